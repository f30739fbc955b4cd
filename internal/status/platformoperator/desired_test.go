package platformoperator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

type existingChange = func(*Existing)

// tracked adds the labels and annotations that Argo CD sets on an object that it syncs.
func tracked(op *v1alpha1.PlatformOperator) {
	op.Labels = map[string]string{"app.kubernetes.io/instance": "platform", "team": "blue"}
	op.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "platform:platform.openshift.io/PlatformOperator:/foo"}
}

func fromPackage(pkg v1alpha1.Package) builder.Change {
	return func(op *v1alpha1.PlatformOperator) { op.Spec.Package = pkg }
}

func approving(approval olm.Approval) builder.Change {
	return func(op *v1alpha1.PlatformOperator) { op.Spec.Approval = approval }
}

func configured(raw string) builder.Change {
	return func(op *v1alpha1.PlatformOperator) { op.Spec.Config = &runtime.RawExtension{Raw: []byte(raw)} }
}

// observing sets managementPolicy Observe.
func observing(op *v1alpha1.PlatformOperator) { op.Spec.ManagementPolicy = v1alpha1.ManagementObserve }

// including adds entries to spec.resources: name, manifest, name, manifest.
func including(entries ...string) builder.Change {
	return func(op *v1alpha1.PlatformOperator) {
		for e := range slices.Chunk(entries, 2) {
			op.Spec.Resources = append(op.Spec.Resources, v1alpha1.Resource{Name: e[0], Manifest: runtime.RawExtension{Raw: []byte(e[1])}})
		}
	}
}

// existingWith returns a cluster without any object of foo.
func existingWith(changes ...existingChange) Existing {
	out := Existing{
		DefaultCatalog: types.NamespacedName{Namespace: "global", Name: "operators"},
	}
	for _, change := range changes {
		change(&out)
	}
	return out
}

func namespaceOfOthers(s *Existing) {
	s.NamespaceOfOthers = NewObject("v1", "Namespace", "", "foo")
}

// groups adds existing OperatorGroups, each as "name relation". With "of foo", PlatformOperator foo controls it; with
// "for foo", foo may adopt it; without a relation, it belongs to another owner.
func groups(those ...string) existingChange {
	return func(s *Existing) {
		for _, g := range those {
			s.Groups = append(s.Groups, operatorsv1.OperatorGroup{ObjectMeta: ownedMeta(g)})
		}
	}
}

func subscriptions(those ...string) existingChange {
	return func(s *Existing) {
		for _, sub := range those {
			s.Subscriptions = append(s.Subscriptions, operatorsv1alpha1.Subscription{
				ObjectMeta: ownedMeta(sub), Spec: &olm.SubscriptionSpec{Package: "foo"},
			})
		}
	}
}

func ownedMeta(words string) metav1.ObjectMeta {
	name, whose, _ := strings.Cut(words, " ")
	out := metav1.ObjectMeta{Namespace: "foo", Name: name}
	for word := range strings.SplitSeq(whose, ", ") {
		how, whom, _ := strings.Cut(word, " ")
		switch how {
		case "of":
			yes := true
			out.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "platform.openshift.io/v1alpha1", Kind: "PlatformOperator", Name: whom, UID: types.UID("uid-" + whom),
				Controller: &yes,
			}}
		case "for":
			out.Annotations = map[string]string{"operatorstatus.io/adopt": whom}
		}
	}
	return out
}

// modes sets the install modes that the operator supports.
func modes(supported ...olm.InstallModeType) existingChange {
	return func(s *Existing) {
		for _, t := range []olm.InstallModeType{
			olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeSingleNamespace, olm.InstallModeTypeMultiNamespace,
			olm.InstallModeTypeAllNamespaces,
		} {
			s.InstallModes = append(s.InstallModes, olm.InstallMode{Type: t, Supported: slices.Contains(supported, t)})
		}
	}
}

// The objects of a PlatformOperator that only names its package, as outline formats them.
const (
	itsNamespace    = `namespace: Namespace foo`
	itsGroup        = `operatorgroup: OperatorGroup foo/foo {}`
	itsSubscription = `subscription: Subscription foo/foo gate=approval {"installPlanApproval":"Manual","name":"foo",` +
		`"source":"operators","sourceNamespace":"global"}`
)

// outline summarizes composed objects: entry, object, gate, spec.
func outline(composed []Desired) []string {
	var out []string
	for _, d := range composed {
		line := d.Entry + ": " + Title(d.Object)
		if gate, ok := d.Object.GetLabels()["operatorstatus.io/gate"]; ok {
			line += " gate=" + gate
		}
		if spec, ok := d.Object.Object["spec"]; ok {
			raw, err := json.Marshal(spec)
			if err != nil {
				panic(err)
			}
			line += " " + string(raw)
		}
		out = append(out, line)
	}
	return out
}

type composeRow struct {
	reason   string
	op       []builder.Change
	existing []existingChange
	want     []string
}

func TestCompose(t *testing.T) {
	for of, rows := range map[string]map[string]composeRow{
		"Spec": specRows(), "OperatorGroup": groupRows(), "Subscription": subscriptionRows(), "Resources": entryRows(),
	} {
		for name, tc := range rows {
			t.Run(of+"/"+name, func(t *testing.T) {
				op, s := builder.PlatformOperator(tc.op...), existingWith(tc.existing...)
				got := Compose(op, s)
				if diff := cmp.Diff(tc.want, outline(got)); diff != "" {
					t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
				}
				for _, d := range got {
					checkOwned(t, op, d.Object)
				}
				if diff := cmp.Diff(got, Compose(op, s)); diff != "" {
					t.Errorf("the second result differs:\n%s", diff)
				}
				if diff := cmp.Diff(builder.PlatformOperator(tc.op...), op); diff != "" {
					t.Errorf("the PlatformOperator, which may be in a cache, was changed:\n%s", diff)
				}
				if diff := cmp.Diff(existingWith(tc.existing...), s); diff != "" {
					t.Errorf("the existing objects, which may be in a cache, were changed:\n%s", diff)
				}
				slices.Reverse(s.Groups)
				slices.Reverse(s.Subscriptions)
				if diff := cmp.Diff(outline(got), outline(Compose(op, s))); diff != "" {
					t.Errorf("the result depends on the order of the input: -one +other\n%s", diff)
				}
			})
		}
	}
}

// checkOwned verifies the owner reference and label of an object, and that no other metadata of its owner is on it.
func checkOwned(t *testing.T, op *v1alpha1.PlatformOperator, o *unstructured.Unstructured) {
	t.Helper()
	yes := true
	want := []metav1.OwnerReference{{
		APIVersion: "platform.openshift.io/v1alpha1", Kind: "PlatformOperator", Name: op.Name, UID: op.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	if diff := cmp.Diff(want, o.GetOwnerReferences()); diff != "" {
		t.Errorf("owners of %s: -want +got\n%s", Title(o), diff)
	}
	value := o.GetLabels()["operatorstatus.io/platform-operator"]
	if problems := validation.IsValidLabelValue(value); value == "" || len(problems) > 0 || !strings.HasPrefix(op.Name, value) {
		t.Errorf("%s has label %q: %v", Title(o), value, problems)
	}
	for key := range op.Labels {
		if _, ok := o.GetLabels()[key]; ok {
			t.Errorf("%s has label %s of its PlatformOperator", Title(o), key)
		}
	}
	for key := range op.Annotations {
		if _, ok := o.GetAnnotations()[key]; ok {
			t.Errorf("%s has annotation %s of its PlatformOperator", Title(o), key)
		}
	}
}

func specRows() map[string]composeRow {
	subscription := func(spec string) string {
		return `subscription: Subscription foo/foo gate=approval {` + spec + `}`
	}
	elsewhere := []string{
		`operatorgroup: OperatorGroup bar/foo {}`, strings.Replace(itsSubscription, "foo/foo", "bar/foo", 1),
	}
	return map[string]composeRow{
		"PackageAlone": {
			reason: "A package name alone means the default catalog, the default channel and a namespace of its own.",
			want:   []string{itsNamespace, itsGroup, itsSubscription},
		},
		"Automatic": {
			reason: "The defaults that the API server sets change nothing.",
			op:     []builder.Change{approving(olm.ApprovalAutomatic), func(op *v1alpha1.PlatformOperator) { op.Spec.ManagementPolicy = "Full" }},
			want:   []string{itsNamespace, itsGroup, itsSubscription},
		},
		"Manual": {
			reason: "With Manual approval the Subscription does not leave the approval to the gate.",
			op:     []builder.Change{approving(olm.ApprovalManual)},
			want:   []string{itsNamespace, itsGroup, strings.Replace(itsSubscription, " gate=approval", "", 1)},
		},
		"Catalog": {
			reason: "A catalog without a namespace is in the namespace of the default catalog.",
			op:     []builder.Change{fromPackage(v1alpha1.Package{Name: "foo", Catalog: &v1alpha1.CatalogReference{Name: "mine"}})},
			want: []string{itsNamespace, itsGroup, subscription(
				`"installPlanApproval":"Manual","name":"foo","source":"mine","sourceNamespace":"global"`)},
		},
		"CatalogElsewhere": {
			reason: "A catalog with a namespace is in that namespace.",
			op:     []builder.Change{fromPackage(v1alpha1.Package{Name: "foo", Catalog: &v1alpha1.CatalogReference{Name: "mine", Namespace: "shop"}})},
			want: []string{itsNamespace, itsGroup, subscription(
				`"installPlanApproval":"Manual","name":"foo","source":"mine","sourceNamespace":"shop"`)},
		},
		"ChannelAndStart": {
			reason: "The channel and startingCSV are copied to the Subscription.",
			op:     []builder.Change{fromPackage(v1alpha1.Package{Name: "foo", Channel: "stable", StartingCSV: "foo.v1"})},
			want: []string{itsNamespace, itsGroup, subscription(
				`"channel":"stable","installPlanApproval":"Manual","name":"foo","source":"operators","sourceNamespace":"global",` +
					`"startingCSV":"foo.v1"`)},
		},
		"Version": {
			reason: "The range of versions is an annotation of the Subscription.",
			op:     []builder.Change{fromPackage(v1alpha1.Package{Name: "foo", Version: "<2.0.0"})},
			want: []string{itsNamespace, itsGroup, strings.Replace(
				subscription(`"installPlanApproval":"Manual","name":"foo","source":"operators","sourceNamespace":"global"`),
				`"metadata":{`, `"metadata":{"annotations":{"operatorstatus.io/version":"\u003c2.0.0"},`, 1)},
		},
		"Config": {
			reason: "The config is copied completely, including unknown fields.",
			op: []builder.Change{configured(`{"env":[{"name":"A","value":"b"}],"tolerations":[{"tolerationSeconds":300}],` +
				`"resources":{"limits":{"cpu":"1"}},"later":null}`)},
			want: []string{itsNamespace, itsGroup, subscription(
				`"config":{"env":[{"name":"A","value":"b"}],"later":null,"resources":{"limits":{"cpu":"1"}},` +
					`"tolerations":[{"tolerationSeconds":300}]},` +
					`"installPlanApproval":"Manual","name":"foo","source":"operators","sourceNamespace":"global"`)},
		},
		"ConfigEmpty": {
			reason: "An empty config is left out.",
			op:     []builder.Change{configured(`{}`)},
			want:   []string{itsNamespace, itsGroup, itsSubscription},
		},
		"ConfigNothing": {
			reason: "A config without content is left out.",
			op:     []builder.Change{configured(``)},
			want:   []string{itsNamespace, itsGroup, itsSubscription},
		},
		"ConfigBroken": {
			reason: "A config that is not an object is left out.",
			op:     []builder.Change{configured(`["A"]`)},
			want:   []string{itsNamespace, itsGroup, itsSubscription},
		},
		"NamespaceNamed": {
			reason: "A namespace of the spec that does not exist is created.",
			op:     []builder.Change{builder.InNamespaceBar},
			want:   slices.Concat([]string{`namespace: Namespace bar`}, elsewhere),
		},
		"NamespaceOfOthersNamed": {
			reason: "An existing namespace of the spec is used unchanged.",
			op:     []builder.Change{builder.InNamespaceBar}, existing: []existingChange{namespaceOfOthers},
			want: elsewhere,
		},
		"NamespaceOfOthers": {
			reason:   "An existing namespace that the spec does not name is a conflict, which is reported when it is applied.",
			existing: []existingChange{namespaceOfOthers},
			want:     []string{itsNamespace, itsGroup, itsSubscription},
		},
		"Tracked": {
			reason: "Labels and annotations of the PlatformOperator are not copied, since Argo CD would delete objects with its own.",
			op:     []builder.Change{tracked, including("cr", `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"cr"}}`)},
			want:   []string{itsNamespace, itsGroup, itsSubscription, `cr: Foo cr`},
		},
		"LongName": {
			reason: "The label value of a long name is truncated to a valid label value.",
			op: []builder.Change{builder.InNamespaceBar, func(op *v1alpha1.PlatformOperator) {
				op.Name = strings.Repeat("a", 61) + ".-b" + strings.Repeat("c", 180)
			}},
			want: []string{
				`namespace: Namespace bar`,
				`operatorgroup: OperatorGroup bar/` + strings.Repeat("a", 61) + ".-b" + strings.Repeat("c", 180) + ` {}`,
				strings.Replace(itsSubscription, "foo/foo", "bar/"+strings.Repeat("a", 61)+".-b"+strings.Repeat("c", 180), 1),
			},
		},
		"Observe": {
			reason: "Nothing is composed with managementPolicy Observe.",
			op:     []builder.Change{observing, including("cr", `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"cr"}}`)},
		},
	}
}

func groupRows() map[string]composeRow {
	const own = `operatorgroup: OperatorGroup foo/foo {"targetNamespaces":["foo"]}`
	group := func(name string) []string {
		return []string{itsNamespace, strings.Replace(itsGroup, "foo/foo", "foo/"+name, 1), itsSubscription}
	}
	none := []string{itsNamespace, itsSubscription}
	return map[string]composeRow{
		"AllModes": {
			reason:   "The OperatorGroup covers all namespaces if the operator supports it.",
			existing: []existingChange{modes(olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeAllNamespaces)},
			want:     []string{itsNamespace, itsGroup, itsSubscription},
		},
		"OwnNamespace": {
			reason:   "The OperatorGroup covers the own namespace if the operator does not support all namespaces.",
			existing: []existingChange{modes(olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeMultiNamespace)},
			want:     []string{itsNamespace, own, itsSubscription},
		},
		"OwnNamespaceElsewhere": {
			reason:   "The own namespace is the one of the installation.",
			op:       []builder.Change{builder.InNamespaceBar},
			existing: []existingChange{modes(olm.InstallModeTypeOwnNamespace)},
			want: []string{
				`namespace: Namespace bar`, `operatorgroup: OperatorGroup bar/foo {"targetNamespaces":["bar"]}`,
				strings.Replace(itsSubscription, "foo/foo", "bar/foo", 1),
			},
		},
		"ModesUnknown": {
			reason:   "The OperatorGroup covers all namespaces while the install modes are unknown.",
			existing: []existingChange{func(s *Existing) { s.InstallModes = []olm.InstallMode{} }},
			want:     []string{itsNamespace, itsGroup, itsSubscription},
		},
		"NeitherMode": {
			reason:   "The OperatorGroup is composed even if its operator supports neither mode, which the status reports.",
			existing: []existingChange{modes(olm.InstallModeTypeSingleNamespace)},
			want:     []string{itsNamespace, itsGroup, itsSubscription},
		},
		"Ours": {
			reason: "An existing OperatorGroup of this PlatformOperator is kept.", existing: []existingChange{groups("foo of foo")}, want: group("foo"),
		},
		"OursAdopted": {
			reason: "An adopted OperatorGroup keeps its name.", existing: []existingChange{groups("theirs of foo, for foo")}, want: group("theirs"),
		},
		"Others": {
			reason:   "No OperatorGroup is composed beside one of another owner, since two of them stop all operators of the namespace.",
			existing: []existingChange{groups("theirs")}, want: none,
		},
		"OthersOfOurName": {
			reason: "No OperatorGroup is composed if one of another owner has its name.", existing: []existingChange{groups("foo")}, want: none,
		},
		"OursBesideOthers": {
			reason: "The OperatorGroup of this PlatformOperator is removed beside one of another owner.", existing: []existingChange{groups("foo of foo", "theirs")}, want: none,
		},
		"Consents": {
			reason: "An OperatorGroup is adopted under its name if its owner consents.", existing: []existingChange{groups("theirs for foo")}, want: group("theirs"),
		},
		"ConsentsBesideOthers": {
			reason: "An OperatorGroup whose owner consents is not adopted beside one whose owner does not.", existing: []existingChange{groups("theirs for foo", "other")}, want: none,
		},
		"ConsentsToAnother": {
			reason: "A consent to another PlatformOperator is ignored.", existing: []existingChange{groups("theirs for bar")}, want: none,
		},
		"ConsentsButControlled": {
			reason: "An OperatorGroup with another controller is not adopted.", existing: []existingChange{groups("theirs of bar, for foo")}, want: none,
		},
		"OursBesideConsenting": {
			reason:   "An own OperatorGroup takes precedence over one that can be adopted.",
			existing: []existingChange{groups("foo of foo", "a for foo")}, want: group("foo"),
		},
	}
}

func subscriptionRows() map[string]composeRow {
	named := func(name string) []string {
		return []string{itsNamespace, itsGroup, strings.Replace(itsSubscription, "foo/foo", "foo/"+name, 1)}
	}
	return map[string]composeRow{
		"Ours": {
			reason: "An existing Subscription of this PlatformOperator is kept.", existing: []existingChange{subscriptions("foo of foo")}, want: named("foo"),
		},
		"OursAdopted": {
			reason:   "An adopted Subscription keeps its name.",
			existing: []existingChange{subscriptions("theirs of foo, for foo")}, want: named("theirs"),
		},
		"Consents": {
			reason:   "A Subscription is adopted under its name if its owner consents.",
			existing: []existingChange{subscriptions("theirs for foo")}, want: named("theirs"),
		},
		"OursBesideConsenting": {
			reason: "An own Subscription takes precedence over one that can be adopted.", existing: []existingChange{subscriptions("a for foo", "z of foo")}, want: named("z"),
		},
		"OursBesideOthers": {
			reason: "A Subscription of another owner is ignored if an own one exists.", existing: []existingChange{subscriptions("a", "foo of foo")}, want: named("foo"),
		},
		"Others": {
			reason:   "A Subscription of another owner is composed under its name, so applying it reports the conflict.",
			existing: []existingChange{subscriptions("theirs")}, want: named("theirs"),
		},
		"OthersControlled": {
			reason: "A Subscription of another PlatformOperator is composed under its name, so applying it reports the conflict.", existing: []existingChange{subscriptions("theirs of bar, for foo")}, want: named("theirs"),
		},
		"ConsentsToAnother": {
			reason: "A consent to another PlatformOperator is ignored.", existing: []existingChange{subscriptions("theirs for bar")}, want: named("theirs"),
		},
		"ConsentsBesideOthers": {
			reason:   "A Subscription whose owner consents takes precedence over one whose owner does not.",
			existing: []existingChange{subscriptions("a", "z for foo")}, want: named("z"),
		},
		"SeveralConsent": {
			reason: "The first by name of several Subscriptions whose owners consent is adopted.", existing: []existingChange{subscriptions("b for foo", "a for foo")}, want: named("a"),
		},
	}
}

func entryRows() map[string]composeRow {
	with := func(lines ...string) []string {
		return slices.Concat([]string{itsNamespace, itsGroup, itsSubscription}, lines)
	}
	cr := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":%q}}`, name)
	}
	return map[string]composeRow{
		"InOrder": {
			reason: "Resources are composed in the order of the spec, under the names of their entries.",
			op:     []builder.Change{including("z", cr("one"), "a", cr("two"))},
			want:   with("z: Foo one", "a: Foo two"),
		},
		"Namespaced": {
			reason: "A resource keeps its namespace.",
			op:     []builder.Change{including("cm", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm","namespace":"bar"}}`)},
			want:   with("cm: ConfigMap bar/cm"),
		},
		"Broken": {
			reason: "An entry that is not an object is ignored, and the others are composed.",
			op: []builder.Change{including("nothing", ``, "null", `null`, "text", `"text"`, "list", `[]`, "cut", `{"apiVersion":`, "empty", `{}`,
				"kindless", `{"apiVersion":"v1","metadata":{"name":"a"}}`, "versionless", `{"kind":"Foo","metadata":{"name":"a"}}`,
				"nameless", `{"apiVersion":"v1","kind":"Foo","metadata":{"generateName":"a"}}`,
				"metadata", `{"apiVersion":"v1","kind":"Foo","metadata":"a"}`,
				"name", `{"apiVersion":"v1","kind":"Foo","metadata":{"name":1}}`, "good", cr("good"))},
			want: with("good: Foo good"),
		},
	}
}

// TestComposeResources verifies how a manifest becomes a composed object.
func TestComposeResources(t *testing.T) {
	const ours = `"labels":{"operatorstatus.io/platform-operator":"foo"}`
	for name, tc := range map[string]struct {
		reason, manifest, want string
	}{
		"Kept": {
			reason: "The content of the manifest is kept.",
			manifest: `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a","finalizers":["example.com/f"]},` +
				`"spec":{"b":true,"n":null,"s":"","l":[],"o":{},"f":1.5},"data":{"status":"kept"}}`,
			want: `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a","finalizers":["example.com/f"],` + ours + `},` +
				`"spec":{"b":true,"n":null,"s":"","l":[],"o":{},"f":1.5},"data":{"status":"kept"}}`,
		},
		"Numbers": {
			reason:   "Integers have the same Go type as those read from the cluster, so they compare as equal.",
			manifest: `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a"},"spec":{"size":3,"big":9007199254740993}}`,
			want: `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a",` + ours + `},` +
				`"spec":{"size":3,"big":9007199254740993}}`,
		},
		"Labels": {
			reason: "Labels and annotations of the manifest are kept, even those of a tool, since a user set them.",
			manifest: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",` +
				`"labels":{"team":"blue","app.kubernetes.io/instance":"x"},"annotations":{"note":"kept"}}}`,
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":{"note":"kept"},` +
				`"labels":{"team":"blue","app.kubernetes.io/instance":"x","operatorstatus.io/platform-operator":"foo"}}}`,
		},
		"LabelOfAnother": {
			reason: "The manifest cannot set its owner.",
			manifest: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","labels":{"operatorstatus.io/platform-operator":"bar"},` +
				`"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]}}`,
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",` + ours + `}}`,
		},
		"FromTheCluster": {
			reason: "Fields that the server sets are removed, so output of kubectl get can be used.",
			manifest: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","uid":"u","resourceVersion":"7","generation":3,` +
				`"creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"kubectl"}]},"status":{"phase":"Ready"}}`,
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",` + ours + `}}`,
		},
		"FromTheClusterBeingDeleted": {
			reason: "Fields that the server sets on deletion are removed.",
			manifest: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z",` +
				`"deletionGracePeriodSeconds":0,"selfLink":"/api/v1/a"}}`,
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",` + ours + `}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			op := builder.PlatformOperator(including("a", tc.manifest))
			composed := Compose(op, existingWith())
			got := composed[len(composed)-1]
			checkOwned(t, op, got.Object)
			got.Object.SetOwnerReferences(nil)
			if diff := cmp.Diff(builder.FromJSON(tc.want).Object, got.Object.Object); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestComposeWhole compares the complete objects of a PlatformOperator that has a package and a resource.
func TestComposeWhole(t *testing.T) {
	op := builder.PlatformOperator(tracked, including("cr", `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"cr"}}`))
	op.Spec.Resources[0].ReadinessChecks = builder.Checks(builder.NonEmpty("status.phase"))
	const metadata = `"ownerReferences":[{"apiVersion":"platform.openshift.io/v1alpha1","kind":"PlatformOperator","name":"foo",` +
		`"uid":"uid-foo","controller":true,"blockOwnerDeletion":true}],"labels":{"operatorstatus.io/platform-operator":"foo"`
	want := []Desired{
		{Entry: "namespace", Object: builder.FromJSON(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"foo",` + metadata + `}}}`)},
		{Entry: "operatorgroup", Object: builder.FromJSON(`{"apiVersion":"operators.coreos.com/v1","kind":"OperatorGroup",
			"metadata":{"namespace":"foo","name":"foo",` + metadata + `}},"spec":{}}`)},
		{Entry: "subscription", Object: builder.FromJSON(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription",
			"metadata":{"namespace":"foo","name":"foo",` + metadata + `,"operatorstatus.io/gate":"approval"}},
			"spec":{"name":"foo","source":"operators","sourceNamespace":"global","installPlanApproval":"Manual"}}`)},
		{Entry: "cr", Checks: builder.Checks(builder.NonEmpty("status.phase")), Object: builder.FromJSON(`{"apiVersion":"example.com/v1","kind":"Foo",
			"metadata":{"name":"cr",` + metadata + `}}}`)},
	}
	if diff := cmp.Diff(want, Compose(op, existingWith())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestLabel(t *testing.T) {
	long := strings.Repeat("a", 60)
	for name, want := range map[string]string{
		"foo":                      "foo",
		"foo.example.com":          "foo.example.com",
		long + "bcd":               long + "bcd",
		long + "bcde":              long + "bcd",
		long + "-.b" + "c":         long + "-.b",
		long + "b.-c":              long + "b",
		long + "...c":              long,
		"a." + long + ".b.c.d.e.f": "a." + long,
	} {
		if got := label(name); got != want || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("label(%q) is %q; want %q", name, got, want)
		}
	}
}

// TestBars verifies that nothing is created in a namespace whose admin would control the operator's service accounts.
func TestBars(t *testing.T) {
	named := func(op *v1alpha1.PlatformOperator) { op.Spec.Namespace = "foo" }
	for name, tc := range map[string]struct {
		reason   string
		op       []builder.Change
		existing []existingChange
		want     string
	}{
		"Own":      {"A namespace that is the PlatformOperator's own, or does not exist yet, does not block it.", nil, nil, ""},
		"OfOthers": {"An existing namespace is a conflict if only the default names it.", nil, []existingChange{namespaceOfOthers}, "Conflict"},
		"Named":    {"An existing namespace that the spec names does not block it.", []builder.Change{named}, []existingChange{namespaceOfOthers}, ""},
		"Reserved": {"A reserved namespace that the spec names blocks it.", []builder.Change{named}, []existingChange{reserved, namespaceOfOthers}, "NamespaceReserved"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := existingWith(tc.existing...).BlockedBy(builder.PlatformOperator(tc.op...)); problem != nil {
				got = problem.Reason
			}
			if got != tc.want {
				t.Errorf("%s: %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func reserved(s *Existing) { s.NamespaceReserved = true }
