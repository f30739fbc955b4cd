package manager_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
)

func checkAdmission(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s\ngot %v, want no error", reason, err)
	case want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s\ngot %v, want it refused with %q", reason, err, want)
	}
}

// TestAdmissionKnowsTheLanguage verifies that the validation rules of the CRD accept the same texts as the parser.
// The texts are random walks over the tokens of the language, most of them almost valid.
func TestAdmissionKnowsTheLanguage(t *testing.T) {
	namespace := cluster.Namespace(t, "language")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	terms := []string{
		"A", "Ready", "x.example.com/Done", `status.phase == "Running"`, `status.a[0].b!="(x) && status.b"`, `Ready.reason in ("A", 3,true)`, "spec.a<=3Gi",
		`metadata.labels[a.b/c] in("x")`, "status.observedGeneration >= metadata.generation", "in", "statusA.reason == -1.5", "spec.b > spec.c",
	}
	parts := []string{
		"!", "(", ")", "&&", "||", " ", "\t", "\n", "&", "a-", "X/y", "_", "ü", "==", "=", "<", "in", `"`, `\`, ",", "status.a", ".reason", "[x]", "3", "true",
		"status.conditions", "status.conditions[0].b == 3", "spec.a == B", `"status.a"`,
	}
	accepted := 0
	for range 1500 {
		text := randomText(r, terms, parts)
		for _, kind := range []struct {
			resource v1alpha1.ProbeResource
			parse    func(string) (*expression.Expression, error)
		}{
			{v1alpha1.ProbeResource{Name: "a.b", Upgradeable: text}, expression.Parse},
			{v1alpha1.ProbeResource{Name: "a.b", Important: text}, expression.ParseAny},
		} {
			p := probeNamed(namespace, "p")
			p.Spec = &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{kind.resource}}
			_, parseErr := kind.parse(text)
			err := cluster.Client.Create(t.Context(), p, client.DryRunAll)
			if (err == nil) != (parseErr == nil) {
				t.Fatalf("%q: the API server returned %v, the parser %v", text, err, parseErr)
			}
			if err == nil {
				accepted++
			}
		}
	}
	if accepted < 50 {
		t.Errorf("only %d texts were accepted: too few for a comparison", accepted)
	}
}

// randomText returns a text that is mostly an expression of terms, with an occasional error.
func randomText(r *rand.Rand, terms, parts []string) string {
	var out strings.Builder
	depth := 0
	for i := range 1 + r.IntN(6) {
		if i > 0 {
			out.WriteString([]string{"&&", " || ", "||"}[r.IntN(3)])
		}
		for r.IntN(3) == 0 {
			out.WriteString([]string{"!", "(", " "}[r.IntN(3)])
		}
		out.WriteString(terms[r.IntN(len(terms))])
		depth = strings.Count(out.String(), "(") - strings.Count(out.String(), ")")
		if depth > 0 && r.IntN(2) == 0 {
			out.WriteString(")")
		}
	}
	depth = strings.Count(out.String(), "(") - strings.Count(out.String(), ")")
	out.WriteString(strings.Repeat(")", max(depth, 0)))
	text := out.String()
	if r.IntN(2) == 0 {
		at := r.IntN(len(text) + 1)
		text = text[:at] + parts[r.IntN(len(parts))] + text[at:]
	}
	return text
}
