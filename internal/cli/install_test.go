package cli

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
)

// TestInstall verifies the objects that the command creates, and its errors.
func TestInstall(t *testing.T) {
	catalog := func(namespace, name string) client.Object {
		return &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "theirs"}}
	existing := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "other"}, Spec: &olm.SubscriptionSpec{Package: "foo"}}
	taken := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo"}, Spec: &olm.SubscriptionSpec{Package: "bar"}}
	cases := map[string]struct {
		reason    string
		objects   []client.Object
		forbidden bool // to read namespaces
		args      []string
		created   []string // kind and name
		want      string   // in the output or the error
	}{
		"Everything": {"Nothing but a catalog exists.", []client.Object{catalog("olm", "one")}, false, nil,
			[]string{"Namespace apps", "OperatorGroup apps for apps", "Subscription foo of olm/one, Automatic"}, "wait -n apps foo --for=ready"},
		"Everywhere": {"The OperatorGroup is for all namespaces.", []client.Object{catalog("olm", "one")}, false, []string{"--watch-all-namespaces"},
			[]string{"Namespace apps", "OperatorGroup apps for ", "Subscription foo of olm/one, Automatic"}, "subscription.operators.coreos.com/foo created"},
		"Existing": {"An OperatorGroup is not changed.", []client.Object{catalog("olm", "one"), namespace, group}, false, []string{"--watch-all-namespaces"},
			[]string{"Subscription foo of olm/one, Automatic"}, "subscription.operators.coreos.com/foo created"},
		"Manual": {"The next step is the approval.", []client.Object{catalog("olm", "one"), namespace, group}, false, []string{"--approval=Manual"},
			[]string{"Subscription foo of olm/one, Manual"}, "approve -n apps foo"},
		"Tenant": {"Whoever may not read namespaces has one.", []client.Object{catalog("olm", "one"), group}, true, nil,
			[]string{"Subscription foo of olm/one, Automatic"}, "subscription.operators.coreos.com/foo created"},
		"Chosen": {"One of several catalogs.", []client.Object{catalog("olm", "one"), catalog("olm", "two"), namespace, group}, false, []string{"--catalog=olm/two"},
			[]string{"Subscription foo of olm/two, Automatic"}, "subscription.operators.coreos.com/foo created"},
		"Several": {"It cannot be known which is meant.", []client.Object{catalog("olm", "two"), catalog("olm", "one")}, false, nil, nil,
			"choose one with --catalog, of olm/one, olm/two"},
		"None":       {"There is nothing to install from.", nil, false, nil, nil, "no CatalogSource found"},
		"Absent":     {"A catalog is misspelt.", []client.Object{catalog("olm", "one")}, false, []string{"--catalog=olm/won"}, nil, "getting CatalogSource olm/won"},
		"Incomplete": {"A catalog has a namespace.", []client.Object{catalog("olm", "one")}, false, []string{"--catalog=one"}, nil, "such as olm/operatorhubio"},
		"Twice":      {"A package has one Subscription.", []client.Object{catalog("olm", "one"), existing}, false, nil, nil, "package foo has the Subscription apps/other already"},
		"Named": {"The name is that of another package's Subscription.", []client.Object{catalog("olm", "one"), namespace, group, taken}, false, nil, nil,
			"creating subscription.operators.coreos.com foo: "},
		"Approval": {"A value is misspelt.", []client.Object{catalog("olm", "one")}, false, []string{"--approval=manual"}, nil, "--approval=manual is not one of Automatic, Manual"},
		"DryRun": {"Nothing is created.", []client.Object{catalog("olm", "one")}, false, []string{"--dry-run=client"}, nil,
			"operatorgroup.operators.coreos.com/apps created (dry run)"},
		"ServerDryRun": {"What needs the namespace is not sent.", []client.Object{catalog("olm", "one")}, false, []string{"--dry-run=server"}, nil,
			"subscription.operators.coreos.com/foo created (server dry run)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", os.DevNull)
			var out bytes.Buffer
			o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, flags: genericclioptions.NewConfigFlags(true)}
			*o.flags.Namespace = "apps"
			var created []string
			o.connected = clusterWith(t, tc.objects, tc.forbidden, &created)
			cmd := installCommand(o)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(append([]string{"foo"}, tc.args...))
			exitCode(cmd.ExecuteContext(t.Context()), &out)
			if !slices.Equal(created, tc.created) || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%s\ncreated %q, want %q\n%s\nlacks %q", tc.reason, created, tc.created, out.String(), tc.want)
			}
		})
	}
}

// clusterWith returns a client of a cluster, which lists each object that is created there, and may not allow to read namespaces.
func clusterWith(t *testing.T, objects []client.Object, forbidden bool, created *[]string) client.WithWatch {
	t.Helper()
	s, err := scheme(append(olmv0.Installer{}.Kinds(), changed...))
	if err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*corev1.Namespace); ok && forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, key.Name, nil)
			}
			return c.Get(ctx, key, o, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			err := c.Create(ctx, o, options...)
			if (&client.CreateOptions{}).ApplyOptions(options).DryRun == nil && err == nil {
				*created = append(*created, inWords(o))
			}
			return err
		},
	})
}

func inWords(o client.Object) string {
	switch o := o.(type) {
	case *corev1.Namespace:
		return "Namespace " + o.Name
	case *operatorsv1.OperatorGroup:
		return "OperatorGroup " + o.Name + " for " + strings.Join(o.Spec.TargetNamespaces, ",")
	case *v1alpha1.Subscription:
		return "Subscription " + o.Name + " of " + o.Spec.CatalogSourceNamespace + "/" + o.Spec.CatalogSource + ", " + string(o.Spec.InstallPlanApproval)
	}
	return o.GetName()
}
