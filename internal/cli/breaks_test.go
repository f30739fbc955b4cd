package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/pkg/lib/encoding"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/operator"
)

// definition returns the CustomResourceDefinition of Foos with versions, all of which are stored.
func definition(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"},
	}
	out.Spec.Group, out.Spec.Names.Kind = "example.com", "Foo"
	for _, v := range versions {
		out.Spec.Versions = append(out.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true})
	}
	out.Status.StoredVersions = versions
	return out
}

func manifest(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	out, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func packed(t *testing.T, text string) string {
	t.Helper()
	out, err := encoding.GzipBase64Encode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// reference is the reference from a step to its bundle, as OLM writes it.
const reference = `{"kind":"ConfigMap","name":"bundle","namespace":"olm","catalogSourceName":"catalog","catalogSourceNamespace":"olm","replaces":"","properties":""}`

// bundle returns the ConfigMap of a bundle as OLM writes it, with a manifest and another file.
func bundle(t *testing.T, manifest string, compressed bool) *corev1.ConfigMap {
	t.Helper()
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "bundle"}}
	if compressed {
		out.Annotations = map[string]string{"olm.contentEncoding": "gzip+base64"}
		out.BinaryData = map[string][]byte{"a.md": []byte(packed(t, "# Foo: *")), "foos.crd.yaml": []byte(packed(t, manifest))}
	} else {
		out.Data = map[string]string{"a.md": "# Foo: *", "foos.crd.yaml": manifest}
	}
	return out
}

// written is the entry of a field manager that writes a Foo, or a subresource of it.
func written(manager, version, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "example.com/" + version, Subresource: subresource,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
	}
}

func TestBreaks(t *testing.T) {
	dropped, kept := manifest(t, definition("v2")), manifest(t, definition("v1", "v2"))
	for name, tc := range map[string]struct {
		reason     string
		manifest   string
		phase      olm.InstallPlanPhase
		bundle     string // the manifest in the ConfigMap of the bundle, or empty
		denied     bool
		compressed bool                        // whether OLM compressed the bundle
		managers   []metav1.ManagedFieldsEntry // of the Foo that exists
		broken     string                      // part of the cause
		note       string                      // part of it
	}{
		"Kept":    {reason: "An update that breaks nothing is not reported.", manifest: kept},
		"Dropped": {reason: "Stored custom resources could not be read any more.", manifest: dropped, broken: "it has no version v1"},
		"Removed": {reason: "A client would be refused.", manifest: kept, managers: []metav1.ManagedFieldsEntry{written("argocd", "v0", "")},
			broken: "argocd writes Foo default/example in v0"},
		"Unused": {reason: "Who writes a version that stays is not affected.", manifest: kept,
			managers: []metav1.ManagedFieldsEntry{written("argocd", "v1", "")}},
		"Operator": {reason: "The operator that writes the status is updated itself.", manifest: kept, managers: []metav1.ManagedFieldsEntry{
			written("foo", "v0", ""), written("foo", "v0", "status")}},
		"Compressed":         {reason: "The built-in loops compress long manifests.", manifest: v1alpha1.PlanManifestCompressed + packed(t, dropped), broken: "it has no version v1"},
		"Installed":          {reason: "What is installed already is not checked.", manifest: dropped, phase: olm.InstallPlanPhaseComplete},
		"Unpacked":           {reason: "OLM keeps the manifests of bundle images in a ConfigMap.", manifest: reference, bundle: dropped, broken: "it has no version v1"},
		"UnpackedCompressed": {reason: "OLM compresses it.", manifest: reference, bundle: dropped, compressed: true, broken: "it has no version v1"},
		"Elsewhere": {reason: "The bundle is gone.", manifest: reference,
			note: "cannot check whether CustomResourceDefinition foos.example.com of foo.v2 breaks custom resources: reading its bundle"},
		"Denied": {reason: "What the user may not read is not checked, which is no reason to fail.", manifest: dropped, denied: true,
			note: "breaks custom resources: customresourcedefinitions.apiextensions.k8s.io"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scheme(olmv0.Installer{}.Kinds())
			if err == nil {
				err = errors.Join(apiextensionsv1.AddToScheme(s), corev1.AddToScheme(s))
			}
			if err != nil {
				t.Fatal(err)
			}
			plan := olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-1"}}
			plan.Spec.ClusterServiceVersionNames, plan.Status.Phase = []string{"foo.v2"}, tc.phase
			plan.Status.Plan = []*olm.Step{{Resolving: "foo.v2", Resource: olm.StepResource{Kind: "CustomResourceDefinition", Name: "foos.example.com", Manifest: tc.manifest}}}
			before := definition("v1", "v0")
			before.Status.StoredVersions = []string{"v1"}
			foo := &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v0", Kind: "Foo"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", ManagedFields: tc.managers},
			}
			objects := []client.Object{before, foo, &plan}
			if tc.bundle != "" {
				objects = append(objects, bundle(t, tc.bundle, tc.compressed))
			}
			c := fake.NewClientBuilder().WithScheme(s).WithReturnManagedFields().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
					if _, is := o.(*apiextensionsv1.CustomResourceDefinition); is && tc.denied {
						return apierrors.NewForbidden(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, key.Name, nil)
					}
					return c.Get(ctx, key, o)
				},
			}).Build()
			operators := []operator.Operator{{Namespace: "default", Name: "foo", Update: "foo.v2", Blockers: []operator.Blocker{{Impact: operator.Held}}}, {Namespace: "other", Name: "bar", Update: "foo.v2"}}
			notes := breaks(t.Context(), c, []olm.InstallPlan{plan}, operators)
			if unread := len(operators[0].Unread) > 0; unread != (tc.note != "") {
				t.Errorf("%s something is unread: %v", tc.reason, operators[0].Unread)
			}
			var causes []string
			for _, b := range operators[0].Blockers {
				if b.Impact == operator.Broken {
					causes = append(causes, b.Cause)
				}
			}
			if broken := operators[0].Blocked() == operator.Broken; broken != (tc.broken != "") {
				t.Errorf("%s the operator, whose update is also held, is broken: %t", tc.reason, broken)
			}
			for _, text := range []struct{ got, want string }{{strings.Join(causes, "\n"), tc.broken}, {strings.Join(notes, "\n"), tc.note}} {
				if (text.want == "") != (text.got == "") || !strings.Contains(text.got, text.want) {
					t.Errorf("%s got %q, want %q", tc.reason, text.got, text.want)
				}
			}
			if len(operators[1].Blockers) != 0 {
				t.Errorf("the operator of another namespace has the blockers %v", operators[1].Blockers)
			}
		})
	}
}
