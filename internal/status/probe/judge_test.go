package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
)

func TestJudge(t *testing.T) {
	parsed := func(upgradeable, important string) Expressions {
		out, _ := Parse(v1alpha1.ProbeResource{Upgradeable: upgradeable, Important: important})
		return out
	}
	conditions := func(c ...any) []observed.Condition {
		var out []observed.Condition
		for i := 0; i < len(c); i += 2 {
			out = append(out, observed.Condition{Type: c[i].(string), Status: c[i+1].(observed.Status)})
		}
		return out
	}
	cases := map[string]struct {
		reason      string
		expressions Expressions
		conditions  []observed.Condition
		unknown     bool
		want        observed.Explanation // with Unreadable, it is unknown as well
	}{
		"Enhancement": {
			reason:      "Reasons are listed in the order of the custom resource's conditions.",
			expressions: parsed("!Migrating", "BadConnectivity || UnhealthyDatabase"),
			conditions:  conditions("Migrating", observed.True, "UnhealthyDatabase", observed.True, "BadConnectivity", observed.True),
			want: observed.Explanation{
				Blocks: "Migrating is True", Important: "UnhealthyDatabase is True, BadConnectivity is True",
				Reasons: []string{"!Migrating", "UnhealthyDatabase", "BadConnectivity"},
			},
		},
		"MustBeTrue": {
			reason:      "A condition that must be True and is not is reported as False.",
			expressions: parsed("Done && Ready", ""),
			conditions:  conditions("Ready", observed.False, "Done", observed.True),
			want:        observed.Explanation{Blocks: "Ready is False", Reasons: []string{"Ready"}},
		},
		"Unknown": {
			reason:      "A custom resource without the conditions does not hold the update.",
			expressions: parsed("!Migrating", "Bad"),
			unknown:     true,
		},
		"StaleYes": {
			reason:      "A condition of an earlier generation does not allow the update.",
			expressions: parsed("!Migrating && Ready", ""),
			conditions:  []observed.Condition{{Type: "Migrating", Status: observed.False, Stale: true}, {Type: "Ready", Status: observed.True}},
			unknown:     true,
		},
		"StaleNo": {
			reason:      "A condition of an earlier generation that blocks the update keeps blocking it.",
			expressions: parsed("!Migrating && Ready", "Migrating"),
			conditions:  []observed.Condition{{Type: "Migrating", Status: observed.True, Stale: true}, {Type: "Ready", Status: observed.True}},
			want: observed.Explanation{
				Blocks: "Migrating is True", Important: "Migrating is True", Reasons: []string{"!Migrating", "Migrating"},
			},
		},
		"StaleAndNotNeeded": {
			reason:      "A condition of an earlier generation is used if the result does not depend on it.",
			expressions: parsed("!Migrating || Ready", ""),
			conditions:  []observed.Condition{{Type: "Migrating", Status: observed.True, Stale: true}, {Type: "Ready", Status: observed.True}},
		},
		"Unreadable": {
			reason:      "A condition that cannot be parsed is unknown, and is listed if the expression depends on it.",
			expressions: parsed("!Migrating && Ready", ""),
			conditions: []observed.Condition{{Type: "Migrating", Status: observed.Unreadable}, {Type: "Other", Status: observed.Unreadable},
				{Type: "Ready", Status: observed.True}, {Status: observed.Unreadable}},
			want: observed.Explanation{Unreadable: "Migrating, status.conditions", Reasons: []string{"Migrating", "status.conditions"}},
		},
		"UnreadableBesideNo": {
			reason:      "A condition that cannot be parsed is ignored if the result does not depend on it.",
			expressions: parsed("!Migrating && Ready", ""),
			conditions:  conditions("Migrating", observed.Unreadable, "Ready", observed.False),
			want:        observed.Explanation{Blocks: "Ready is False", Reasons: []string{"Ready"}},
		},
		"UnreadableElsewhere": {
			reason:      "A condition that cannot be parsed is ignored if the expression does not contain it.",
			expressions: parsed("!Migrating", "Bad"),
			conditions:  conditions("Bad", observed.Unreadable),
			unknown:     true,
		},
		"Field": {
			reason:      "A field that does not have the value is named with the value it should have.",
			expressions: parsed(`status.phase == "Running" && !Migrating`, `status.health == "HEALTH_ERR"`),
			conditions:  conditions("Migrating", observed.True, `status.phase == "Running"`, observed.False, `status.health == "HEALTH_ERR"`, observed.True),
			want: observed.Explanation{
				Blocks: `Migrating is True, status.phase is not "Running"`, Important: `status.health is "HEALTH_ERR"`,
				Reasons: []string{"!Migrating", `status.phase == "Running"`, `status.health == "HEALTH_ERR"`},
			},
		},
		"NegatedField": {
			reason:      "A field that has a value that it should not have is named with it.",
			expressions: parsed(`!(status.phase in ("Upgrading", "Failed"))`, ""),
			conditions:  conditions(`status.phase in ("Upgrading", "Failed")`, observed.True),
			want: observed.Explanation{
				Blocks: `status.phase is one of "Upgrading", "Failed"`, Reasons: []string{`!(status.phase in ("Upgrading", "Failed"))`},
			},
		},
		"UnreadableField": {
			reason:      "A field that is no text is unknown, and is listed if the expression depends on it.",
			expressions: parsed(`status.phase == "Running"`, ""),
			conditions:  conditions(`status.phase == "Running"`, observed.Unreadable, "", observed.Unreadable),
			want:        observed.Explanation{Unreadable: `status.phase == "Running"`, Reasons: []string{`status.phase == "Running"`}},
		},
		"OnlyImportant": {
			reason:      "Without an expression for upgradeable the result is not unknown.",
			expressions: parsed("", "Bad"),
		},
		"Invalid": {
			reason:      "An invalid expression is unknown, and the other expression is evaluated.",
			expressions: parsed("A B", "Bad"),
			conditions:  conditions("Bad", observed.True),
			unknown:     true,
			want:        observed.Explanation{Important: "Bad is True", Reasons: []string{"Bad"}},
		},
		"SameLiteralTwice": {
			reason:      "A condition in both expressions is listed once.",
			expressions: Expressions{Upgradeable: valid(expression.Parse("!A")), Important: valid(expression.ParseAny("A"))},
			conditions:  conditions("A", observed.True),
			want:        observed.Explanation{Blocks: "A is True", Important: "A is True", Reasons: []string{"!A", "A"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			verdict := observed.Verdict{Blocks: tc.want.Blocks != "", Important: tc.want.Important != "", Unknown: tc.unknown || tc.want.Unreadable != "",
				Unreadable: tc.want.Unreadable != ""}
			diff := cmp.Diff(tc.want, tc.expressions.Explain(tc.conditions)) + cmp.Diff(verdict, tc.expressions.Judge(tc.conditions))
			if diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseTellsProblems(t *testing.T) {
	expressions, problems := Parse(v1alpha1.ProbeResource{Resource: "foos.example.com", Upgradeable: "A B", Important: "A || !B"})
	want := []condition.Problem{
		{Reason: v1alpha1.ReasonInvalidExpression,
			Message: `Field upgradeable of probe resource foos.example.com is not a valid expression: position 3: expected && or ||, found "B"`},
		{Reason: v1alpha1.ReasonInvalidExpression, Message: "Field important of probe resource foos.example.com is not a valid expression: position 6: " +
			"! is not allowed here, only condition types and comparisons joined by ||"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("invalid expressions that an older API server accepted should be reported: -want +got\n%s", diff)
	}
	if !expressions.Invalid || expressions.Upgradeable != nil || expressions.Important != nil {
		t.Errorf("invalid expressions should be marked as invalid and not be set: %+v", expressions)
	}
}

func valid(e *expression.Expression, err error) *expression.Expression {
	if err != nil {
		panic(err)
	}
	return e
}
