package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// definition returns the CustomResourceDefinition of Subscriptions with one version and these status fields.
func definition(version string, labels map[string]string, status ...string) *apiextensions.CustomResourceDefinition {
	fields := map[string]apiextensions.JSONSchemaProps{}
	for _, name := range status {
		fields[name] = apiextensions.JSONSchemaProps{Type: "boolean"}
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: subscriptionsCRD, Labels: labels},
		Spec: apiextensions.CustomResourceDefinitionSpec{Versions: []apiextensions.CustomResourceDefinitionVersion{{
			Name: version,
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Properties: map[string]apiextensions.JSONSchemaProps{"status": {Properties: fields}},
			}},
		}}},
	}
}

var builtin = map[string]string{v1alpha1.LabelLifecycle: v1alpha1.LifecycleBuiltin}

func builtInCRD() *apiextensions.CustomResourceDefinition {
	return definition("v1alpha1", builtin, "UpToDate")
}

func schemaless() *apiextensions.CustomResourceDefinition {
	out := builtInCRD()
	out.Spec.Versions[0].Schema = nil
	return out
}

func TestDecide(t *testing.T) {
	definitions := map[string]*apiextensions.CustomResourceDefinition{
		"Absent":         nil,
		"WithoutLabel":   definition("v1alpha1", nil, "UpToDate"),
		"OtherLabel":     definition("v1alpha1", map[string]string{v1alpha1.LabelLifecycle: "olm"}, "UpToDate"),
		"WithoutSchema":  definition("v1alpha1", builtin, "state"),
		"NoSchemaAtAll":  schemaless(),
		"AnotherVersion": definition("v1", builtin, "UpToDate"),
		"WithoutEither":  definition("v1alpha1", nil, "state"),
		"Ours":           builtInCRD(),
	}
	always := func(want string) map[string]string {
		out := map[string]string{}
		for name := range definitions {
			out[name] = want
		}
		return out
	}
	cases := map[string]struct {
		reason     string
		flag       Mode
		olmConfigs bool
		want       map[string]string // "mode: part of the reason"
	}{
		"Auto": {
			reason: "The mode is builtin only if the label and the schema of the CRD are ours, and the message states what is missing.",
			flag:   ModeAuto,
			want: map[string]string{
				"Absent":         "off: apply config/lifecycle",
				"WithoutLabel":   "off: lacks the label",
				"OtherLabel":     "off: lacks the label",
				"WithoutEither":  "off: lacks the label",
				"WithoutSchema":  "off: no status.UpToDate",
				"NoSchemaAtAll":  "off: no status.UpToDate",
				"AnotherVersion": "off: no status.UpToDate",
				"Ours":           "builtin: OLM is not installed",
			},
		},
		"AutoBesideOLM": {
			reason: "The mode is olm if the olmconfigs CRD exists, whatever the CRD of Subscriptions contains, since only OLM installs it.",
			flag:   ModeAuto, olmConfigs: true,
			want: always("olm: only OLM installs"),
		},
		"Builtin": {
			reason: "--lifecycle=builtin does not enable the lifecycle controllers without our CRDs.",
			flag:   ModeBuiltin,
			want: map[string]string{
				"Absent":         "off: apply config/lifecycle",
				"WithoutLabel":   "off: lacks the label",
				"OtherLabel":     "off: lacks the label",
				"WithoutEither":  "off: lacks the label",
				"WithoutSchema":  "off: no status.UpToDate",
				"NoSchemaAtAll":  "off: no status.UpToDate",
				"AnotherVersion": "off: no status.UpToDate",
				"Ours":           "builtin: OLM is not installed",
			},
		},
		"BuiltinBesideOLM": {
			reason: "--lifecycle=builtin does not enable the lifecycle controllers beside OLM.",
			flag:   ModeBuiltin, olmConfigs: true,
			want: always("olm: only OLM installs"),
		},
		"OLM":            {reason: "--lifecycle=olm sets the mode.", flag: ModeOLM, want: always("olm: --lifecycle=olm")},
		"OLMBesideOLM":   {reason: "--lifecycle=olm sets the mode beside OLM, too.", flag: ModeOLM, olmConfigs: true, want: always("olm: --lifecycle=olm")},
		"Off":            {reason: "--lifecycle=off sets the mode.", flag: ModeOff, want: always("off: --lifecycle=off")},
		"OffBesideAnOLM": {reason: "--lifecycle=off sets the mode beside OLM, too.", flag: ModeOff, olmConfigs: true, want: always("off: --lifecycle=off")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for crd, want := range tc.want {
				mode, why := Decide(tc.flag, definitions[crd], tc.olmConfigs)
				wantMode, word, _ := strings.Cut(want, ": ")
				if string(mode) != wantMode || !strings.Contains(why, word) {
					t.Errorf("%s\nDecide(%s, %s, olmConfigs=%t): %s, because %s; want %s", tc.reason, tc.flag, crd, tc.olmConfigs, mode, why, want)
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(definitions)), slices.Sorted(maps.Keys(tc.want))); diff != "" {
				t.Errorf("CRDs without a wanted decision:\n%s", diff)
			}
		})
	}
}

func TestParseMode(t *testing.T) {
	for _, s := range []string{"auto", "builtin", "olm", "off"} {
		if got, err := ParseMode(s); err != nil || string(got) != s {
			t.Errorf("ParseMode(%q): %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "Auto", "OLM", "on", "builtin "} {
		got, err := ParseMode(s)
		if err == nil || got != "" {
			t.Errorf("ParseMode(%q): %q, %v; want an error", s, got, err)
		} else if !strings.Contains(err.Error(), "[auto builtin olm off]") {
			t.Errorf("ParseMode(%q): %v; want the valid values", s, err)
		}
	}
}
