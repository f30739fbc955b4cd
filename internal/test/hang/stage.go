package hang

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Stage is a cluster with operators that hang, each in a namespace of its own.
type Stage struct {
	Cluster *testcluster.Cluster

	// Kubeconfig is the path of the cluster's kubeconfig.
	Kubeconfig string

	// Catalog is a CatalogSource that all namespaces see, and Offer replaces its contents.
	Catalog types.NamespacedName
	Offer   func(t *testing.T, packages ...testcatalog.Package)

	// OLM is true if OLM installs.
	OLM bool

	namespaces map[string]string // by way
}

// patience limits how long an operator is installed, and how long the command line may name another cause.
const patience = 2 * time.Minute

// Play makes an operator hang in each of the ways.
func (s *Stage) Play(t *testing.T) {
	t.Helper()
	s.namespaces = map[string]string{}
	t.Cleanup(func() { s.clear(t) })
	s.Cluster.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Node}})
	names := slices.Sorted(maps.Keys(Ways))
	var packages []testcatalog.Package
	for _, name := range names {
		way := Ways[name]
		s.prepare(t, name, way)
		if way.Updates {
			packages = append(packages, testcatalog.Published(t, way.Old(name)))
		} else {
			packages = append(packages, testcatalog.Published(t, way.New(name)))
		}
	}
	s.Offer(t, packages...)
	for _, name := range names {
		s.subscribe(t, name, Ways[name])
	}
	packages = nil
	for _, name := range names {
		way := Ways[name]
		versions := []testcatalog.Foo{way.New(name)}
		if way.Updates {
			versions = []testcatalog.Foo{way.Old(name), way.New(name)}
			s.do(t, name, installed)
			s.do(t, name, way.Prepare)
		}
		packages = append(packages, testcatalog.Published(t, versions...))
	}
	s.Offer(t, packages...)
	for _, name := range names {
		s.do(t, name, Ways[name].Then)
	}
}

func (s *Stage) prepare(t *testing.T, name string, way Way) {
	t.Helper()
	namespace := s.Cluster.Namespace(t, "hang-"+name)
	s.namespaces[name] = namespace
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{namespace}
	s.Cluster.Create(t, group)
	for _, o := range fill(way.Manifests, namespace, name) {
		s.Cluster.Create(t, o)
	}
}

func (s *Stage) subscribe(t *testing.T, name string, way Way) {
	t.Helper()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespaces[name], Name: name}}
	sub.Spec = &olm.SubscriptionSpec{Package: name, Channel: "stable", CatalogSource: s.Catalog.Name, CatalogSourceNamespace: s.Catalog.Namespace}
	if way.Subscribe != nil {
		way.Subscribe(sub)
	}
	s.Cluster.Create(t, sub)
}

// installed waits until version 1.0.0 has Succeeded.
func installed(ctx context.Context, c client.Client, namespace, name string) string {
	return ran(ctx, c, namespace, Way{}.Old(name))
}

// do repeats a step until it succeeds.
func (s *Stage) do(t *testing.T, name string, step Step) {
	t.Helper()
	if step == nil {
		return
	}
	s.await(t, name, func() string { return step(t.Context(), s.Cluster.Client, s.namespaces[name], name) })
}

func (s *Stage) await(t *testing.T, name string, step func() string) {
	t.Helper()
	last := ""
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = step()
		return last == "", nil
	}); err != nil {
		t.Errorf("%s\n%s: %s", s.objects(t, name), name, last)
	}
}

// Check verifies that the command line names the cause of each operator that hangs, and its exit codes.
func (s *Stage) Check(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, name string, way Way) {
		t.Helper()
		s.checkWhy(t, name, way, func() []string { return nil })
		s.look(t, name, way, func() string {
			if text, code := s.run(t, "check", "--namespace="+s.namespaces[name]); code != s.code(way) {
				return fmt.Sprintf("%s check exits with %d, want %d:\n%s", way.Reason, code, s.code(way), text)
			}
			return ""
		})
	})
}

// CheckArchive verifies the same for `why` with an archive of the cluster.
func (s *Stage) CheckArchive(t *testing.T) {
	t.Helper()
	archive := s.gather(t)
	s.each(t, func(t *testing.T, name string, way Way) {
		t.Helper()
		s.checkWhy(t, name, way, func() []string {
			if way.Again {
				return []string{"--from=" + s.gather(t)}
			}
			return []string{"--from=" + archive}
		})
	})
}

// gather returns an archive of the cluster.
func (s *Stage) gather(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive.tar.gz")
	if text, code := s.run(t, "gather", "--output="+file); code != 0 {
		t.Fatalf("gather exits with %d:\n%s", code, text)
	}
	return file
}

func (s *Stage) each(t *testing.T, check func(*testing.T, string, Way)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(Ways)) {
		t.Run(name, func(t *testing.T) { check(t, name, Ways[name]) })
	}
}

// checkWhy waits until `why` names the cause: some are named once the operator hangs for a minute.
func (s *Stage) checkWhy(t *testing.T, name string, way Way, flags func() []string) {
	t.Helper()
	want := way.Heading
	if s.OLM {
		want = cmp.Or(way.OLM, want)
	}
	heading := regexp.MustCompile(want)
	s.look(t, name, way, func() string {
		text, code := s.run(t, append([]string{"why", name, "--namespace=" + s.namespaces[name]}, flags()...)...)
		if code != s.code(way) || !heading.MatchString(firstBlocker(text)) {
			return fmt.Sprintf("%s why exits with %d, want %d, and its first blocker does not match %q:\n%s", way.Reason, code, s.code(way), want, text)
		}
		t.Log(firstBlocker(text))
		return ""
	})
}

// look repeats a check until it returns "", after what made the operator hang if that may have been undone.
func (s *Stage) look(t *testing.T, name string, way Way, check func() string) {
	t.Helper()
	s.await(t, name, func() string {
		if way.Again {
			if undone := way.Then(t.Context(), s.Cluster.Client, s.namespaces[name], name); undone != "" {
				return undone
			}
		}
		return check()
	})
}

// code returns the exit code of `why` and `check`.
func (s *Stage) code(way Way) int {
	if s.OLM {
		return cmp.Or(way.OLMCode, way.Code)
	}
	return way.Code
}

// firstBlocker returns the first blocker that `why` prints.
func firstBlocker(why string) string {
	if paragraphs := strings.Split(why, "\n\n"); len(paragraphs) > 1 {
		return paragraphs[1]
	}
	return ""
}

// run runs the command line, and returns its output and exit code.
func (s *Stage) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"), append(args, "--kubeconfig="+s.Kubeconfig)...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("running the command line (`make build` builds it): %v", err)
	}
	return out.String(), command.ProcessState.ExitCode()
}

// objects returns the objects of an operator as YAML.
func (s *Stage) objects(t *testing.T, name string) string {
	t.Helper()
	var out []byte
	for _, what := range []string{"subscriptions.operators.coreos.com,installplans,clusterserviceversions", "customresourcedefinition/" + Way{}.Old(name).CRD()} {
		objects, err := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"), "get", what, "--output=yaml",
			"--kubeconfig="+s.Kubeconfig, "--namespace="+s.namespaces[name]).CombinedOutput()
		if err != nil {
			objects = fmt.Appendf(objects, "%v\n", err)
		}
		out = append(out, objects...)
	}
	return string(out)
}

// clear deletes everything, and the finalizers that would keep it.
func (s *Stage) clear(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	none := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	for name, namespace := range s.namespaces {
		csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Way{}.Old(name).CSV()}}
		_ = s.Cluster.Client.Patch(ctx, csv, none) // it may not exist
		custom := &unstructured.UnstructuredList{}
		custom.SetAPIVersion(name + ".example.com/v1")
		custom.SetKind(Way{}.Old(name).Kind() + "List")
		_ = s.Cluster.Client.List(ctx, custom, client.InNamespace(namespace)) // the kind may not exist
		for i := range custom.Items {
			_ = s.Cluster.Client.Patch(ctx, &custom.Items[i], none)
		}
		for _, o := range []client.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		} {
			if err := s.Cluster.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	}
	if err := s.Cluster.Client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Node}}); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}
