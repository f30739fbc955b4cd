package olm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// statuses are those of custom resources of a package or operator: one that does not allow an update, and one that does.
type statuses struct{ kind, busy, idle string }

// realPackages are packages of BUNDLES, none of which has a webhook. Those without custom resources are never held.
var realPackages = map[string]*statuses{
	"strimzi-kafka-operator":   {"Kafka", conditions("NotReady=True"), conditions("Ready=True")},
	"knative-operator":         {"KnativeServing", conditions("Ready=False"), conditions("Ready=True")},
	"mongodb-enterprise":       {"MongoDB", `{"phase":"Pending","version":"4.4.0"}`, `{"phase":"Running","version":"4.4.0"}`},
	"universal-crossplane":     {"Provider", conditions("Installed=True", "Healthy=False"), conditions("Installed=True", "Healthy=True")},
	"flux":                     {"Kustomization", conditions("Reconciling=True"), conditions("Ready=True")},
	"camel-k":                  nil,
	"istio-workspace-operator": nil,
	"kiali":                    nil,
	"starboard-operator":       nil,
	"tackle-operator":          nil,
}

// conditions returns a status with conditions, each "Type=Status", in the shape that kstatus asks for.
func conditions(all ...string) string {
	var out []string
	for _, c := range all {
		name, status, _ := strings.Cut(c, "=")
		out = append(out, fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Tested","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`, name, status))
	}
	return `{"conditions":[` + strings.Join(out, ",") + `]}`
}

// released and extended are operators of Helm and of OLM v1.
var (
	released = map[schema.GroupKind]statuses{
		{Group: "k8s.keycloak.org", Kind: "Keycloak"}: {busy: conditions("Ready=False"), idle: conditions("Ready=True", "RollingUpdate=False")},
		{Group: "minio.min.io", Kind: "Tenant"}:       {busy: `{"currentState":"Updating MinIO Version"}`, idle: `{"currentState":"Initialized"}`},
		{Group: "k8s.mariadb.com", Kind: "MariaDB"}:   {busy: conditions("Ready=False"), idle: conditions("Ready=True")},
	}
	extended = map[schema.GroupKind]statuses{
		{Group: "cert-manager.io", Kind: "Certificate"}: {busy: conditions("Issuing=True"), idle: conditions("Ready=True")},
		{Group: "postgresql.cnpg.io", Kind: "Cluster"}:  {busy: conditions("Ready=False"), idle: conditions("Ready=True")},
	}
)

// TestPoliciesOfLibrary installs ten real packages with OLM, three operators with Helm and two with OLM v1, none of which is annotated,
// applies config/policies, and updates all of them twice. Exactly those are held whose custom resources do not allow it.
func TestPoliciesOfLibrary(t *testing.T) {
	if os.Getenv("BUNDLES") == "" {
		t.Skip("BUNDLES is not set: `make test-bundles BUNDLES=…` sets it to a folder of packages")
	}
	cluster.RemoveCRDs(t)
	manager := cluster.StartManager(t)
	l := &library{kubeconfig: filepath.Join(clusterDir, "kubeconfig")}
	all := slices.Concat(l.subscribe(t, os.Getenv("BUNDLES")), l.release(t), l.extend(t))
	for _, p := range all {
		p.await(t, 0)
	}
	l.kubectl(t, "apply", "--server-side", "-k", filepath.Join(testcluster.Root(), "config", "policies"))
	t.Cleanup(func() {
		l.kubectl(t, "delete", "--wait=false", "-k", filepath.Join(testcluster.Root(), "config", "policies"))
	})
	for _, p := range all {
		p.createCustom(t)
	}
	for round := 1; round <= 2; round++ {
		var held, free []*probed
		for i, p := range all {
			if p.custom == nil {
				free = append(free, p)
			} else if (i+round)%2 == 0 {
				held = append(held, p)
				p.setStatus(t, p.statuses.busy)
			} else {
				free = append(free, p)
				p.setStatus(t, p.statuses.idle)
			}
		}
		l.checkRound(t, round, held, free)
	}
	manager.CheckAlive(t)
}

// library is a cluster with operators of the library of policies.
type library struct {
	kubeconfig string
	folder     string // of the catalog
	packages   []testcatalog.Package
}

// probed is an operator of any installer.
type probed struct {
	name     string
	of       holdv1alpha1.OperatorReference
	statuses *statuses
	custom   *unstructured.Unstructured // or nil

	// update asks for a version, by its number.
	update func(t *testing.T, version int)

	// running returns an object that changes when a version runs, and why that does not run yet, or empty.
	running func(version int) (client.Object, func() string)
}

// checkRound updates all operators to a version, and verifies that some are held until their custom resources allow it.
func (l *library) checkRound(t *testing.T, round int, held, free []*probed) {
	t.Helper()
	for _, p := range held {
		p.awaitHold(t)
	}
	for _, p := range free {
		cluster.AwaitGone(t, p.hold())
	}
	l.offer(t, round+1)
	for _, p := range slices.Concat(held, free) {
		p.update(t, round)
	}
	for _, p := range free {
		p.await(t, round)
	}
	for _, p := range held {
		p.awaitHold(t)
		p.await(t, round-1)
		t.Logf("round %d: %s is held: %s", round, p.name, p.heldWith(t))
	}
	for _, p := range held {
		p.setStatus(t, p.statuses.idle)
		cluster.AwaitGone(t, p.hold())
		p.update(t, round)
	}
	for _, p := range held {
		p.await(t, round)
	}
	t.Logf("round %d: %d of %d operators were held", round, len(held), len(held)+len(free))
}

func (p *probed) hold() *holdv1alpha1.UpgradeHold {
	return &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: p.of.HoldName()}}
}

func (p *probed) awaitHold(t *testing.T) {
	t.Helper()
	hold := p.hold()
	cluster.Await(t, hold, func() string {
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
	})
}

func (p *probed) heldWith(t *testing.T) string {
	t.Helper()
	hold := p.hold()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(hold), hold); err != nil {
		t.Fatal(err)
	}
	return hold.Status.Message
}

// await waits until a version runs.
func (p *probed) await(t *testing.T, version int) {
	t.Helper()
	o, why := p.running(version)
	cluster.AwaitWithin(t, 5*time.Minute, o, func() string {
		if reason := why(); reason != "" {
			return p.name + ": " + reason
		}
		return ""
	})
}

func (p *probed) createCustom(t *testing.T) {
	t.Helper()
	if p.custom == nil {
		return
	}
	live := cluster.Rediscovered(t).Client
	if namespaced, err := live.IsObjectNamespaced(p.custom); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	} else if !namespaced {
		p.custom.SetNamespace("")
	}
	if err := live.Create(t.Context(), p.custom); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

func (p *probed) setStatus(t *testing.T, status string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	live := cluster.Rediscovered(t).Client
	err := live.Status().Patch(t.Context(), p.custom, patch)
	if apierrors.IsNotFound(err) { // it has no such subresource
		err = live.Patch(t.Context(), p.custom, patch)
	}
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// subscribe subscribes to the first version of real packages.
func (l *library) subscribe(t *testing.T, folder string) []*probed {
	t.Helper()
	packages, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if _, ok := realPackages[p.Name]; ok {
			p.Bundles = append(p.Bundles, another(t, p.Newest()))
			l.packages = append(l.packages, p)
		}
	}
	if len(l.packages) != len(realPackages) {
		t.Fatalf("%s lacks some of the packages", folder)
	}
	l.folder = filepath.Join(t.TempDir(), "catalog")
	l.offer(t, 1)
	t.Cleanup(func() {
		if err := testcluster.Devcluster(context.Background(), "catalog", "--dir="+clusterDir, "--stop", catalogOfAll.Name); err != nil {
			t.Error(err)
		}
	})
	var out []*probed
	for _, p := range l.packages {
		namespace := p.Bundles[0].CSV.Annotations["operatorframework.io/suggested-namespace"] // which its roles may name
		if namespace == "" {
			namespace = cluster.Namespace(t, "of-olm")
		} else {
			cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		}
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
		if !p.Bundles[0].Supports(olm.InstallModeTypeAllNamespaces) {
			group.Spec.TargetNamespaces = []string{namespace}
		}
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name}}
		sub.Spec = &olm.SubscriptionSpec{
			Package: p.Name, Channel: p.Channel, CatalogSource: catalogOfAll.Name, CatalogSourceNamespace: catalogOfAll.Namespace,
		}
		cluster.Create(t, group, sub)
		one := &probed{name: p.Name, of: holdv1alpha1.SubscribedOperator(namespace, p.Name), statuses: realPackages[p.Name]}
		one.update = func(*testing.T, int) {}
		one.running = func(version int) (client.Object, func() string) {
			csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Bundles[version].CSV.Name}}
			return csv, func() string {
				if csv.Status.Phase != olm.CSVPhaseSucceeded {
					return fmt.Sprintf("%s is %s: %s", csv.Name, csv.Status.Phase, csv.Status.Message)
				}
				return ""
			}
		}
		if one.statuses != nil {
			one.custom = example(t, p.Bundles[0], namespace, one.statuses.kind)
		}
		out = append(out, one)
	}
	return out
}

// another returns a later version of a bundle, which differs in its name.
func another(t *testing.T, b testcatalog.Bundle) testcatalog.Bundle {
	t.Helper()
	out := testcatalog.Bundle{Version: semver.Version{Major: b.Version.Major, Minor: b.Version.Minor, Patch: b.Version.Patch + 1000}, CSV: b.CSV.DeepCopy()}
	pkg, _, _ := strings.Cut(b.CSV.Name, ".")
	out.CSV.Name = pkg + ".v" + out.Version.String()
	for _, o := range b.Objects {
		o = o.DeepCopy()
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			o.SetName(out.CSV.Name)
			for field, value := range map[string]string{"version": out.Version.String(), "replaces": b.CSV.Name} {
				if err := unstructured.SetNestedField(o.Object, value, "spec", field); err != nil {
					t.Fatal(err)
				}
			}
		}
		out.Objects = append(out.Objects, o)
	}
	return out
}

// example returns the custom resource of a kind that the author of a bundle has as an example.
func example(t *testing.T, b testcatalog.Bundle, namespace, kind string) *unstructured.Unstructured {
	t.Helper()
	var examples []map[string]any
	if err := json.Unmarshal([]byte(b.CSV.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	for _, object := range examples {
		if out := (&unstructured.Unstructured{Object: object}); out.GetKind() == kind {
			out.SetNamespace(namespace)
			unstructured.RemoveNestedField(out.Object, "status")
			return out
		}
	}
	t.Fatalf("%s has no example of a %s", b.CSV.Name, kind)
	return nil
}

// offer has the catalog of OLM offer some versions of each package.
func (l *library) offer(t *testing.T, versions int) {
	t.Helper()
	packages := slices.Clone(l.packages)
	for i := range packages {
		packages[i].Bundles = packages[i].Bundles[:versions]
	}
	if err := testcatalog.Write(l.folder, packages...); err != nil {
		t.Fatal(err)
	}
	cluster.ServeCatalog(t, clusterDir, catalogOfAll, l.folder)
}

// catalogOfAll is visible in all namespaces.
var catalogOfAll = types.NamespacedName{Namespace: "olm", Name: "library"}

// release installs operators with Helm.
func (l *library) release(t *testing.T) (out []*probed) {
	t.Helper()
	for kind, s := range released {
		o := l.operator(t, kind)
		install := func(version int) *exec.Cmd {
			return l.command(t, "helm", "upgrade", "--install", o.Name, neighbour.Chart(t, o, versions[version]), "--namespace="+o.Namespace)
		}
		p := of(o, holdv1alpha1.InstallerHelm, s)
		p.update = func(t *testing.T, version int) {
			t.Helper()
			held := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(p.hold()), p.hold()) == nil
			text, err := install(version).CombinedOutput()
			if denied := err != nil && strings.Contains(string(text), "is held"); denied != held || err != nil && !denied {
				t.Errorf("held: %t, helm upgrade returns %v\n%s", held, err, text)
			}
		}
		p.update(t, 0)
		out = append(out, p)
	}
	return out
}

// extend installs operators with OLM v1.
func (l *library) extend(t *testing.T) (out []*probed) {
	t.Helper()
	var registry *catalogtest.Registry
	for kind, s := range extended {
		if registry == nil {
			registry = neighbour.StartOLMv1(t, cluster, l.kubeconfig)
		}
		o := l.operator(t, kind)
		extension := neighbour.Extend(t, cluster, registry, o, versions...)
		p := of(o, holdv1alpha1.InstallerOLMv1, s)
		p.update = func(t *testing.T, version int) {
			t.Helper()
			patch := fmt.Appendf(nil, `{"spec":{"source":{"catalog":{"version":%q}}}}`, versions[version])
			if err := cluster.Rediscovered(t).Client.Patch(t.Context(), extension, client.RawPatch(types.MergePatchType, patch)); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, p)
	}
	return out
}

var versions = []string{story.First, story.Second, "1.2.0"}

func (l *library) operator(t *testing.T, kind schema.GroupKind) story.Op {
	t.Helper()
	o := story.New(t, cluster, l.kubeconfig, "of-"+strings.ToLower(kind.Kind))
	o.Kind = kind
	return o
}

func of(o story.Op, by holdv1alpha1.Installer, s statuses) *probed {
	out := &probed{name: string(by) + " " + o.Name, of: holdv1alpha1.OperatorReference{Installer: by, Namespace: o.Namespace, Name: o.Name}, statuses: &s}
	out.custom = builder.Object(o.Kind.Group+"/v1", o.Kind.Kind, o.Namespace, "example")
	out.running = func(version int) (client.Object, func() string) {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
		return d, func() string {
			if image := d.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+versions[version]) {
				return "its image is " + image
			}
			return ""
		}
	}
	return out
}

func (l *library) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	out := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", name), args...)
	out.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig)
	return out
}

func (l *library) kubectl(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"), append(args, "--kubeconfig="+l.kubeconfig)...).CombinedOutput()
	if err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
