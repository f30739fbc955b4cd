package olm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// run runs a program as a user in a shell does, and returns its output and exit code.
func run(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	bin := filepath.Join(testcluster.Root(), "bin")
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(clusterDir, "kubeconfig"), "PATH="+bin+":"+filepath.Join(bin, "controlplane")+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s (`make build` builds it): %v", program, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// command runs a command of the command line in the namespace of the stage, and verifies its exit code and a part of its output.
func (s *stage) command(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	out, code := run(t, "kubectl", slices.Concat([]string{"operator-status", args[0], "-n", s.namespace}, args[1:])...)
	if code != want || !strings.Contains(out, words) {
		t.Errorf("kubectl operator-status %s exits with %d, want %d and %q: %s", strings.Join(args, " "), code, want, words, out)
	}
}

// awaitWhy waits until the command line explains a Subscription with an exit code and these words, and returns all it prints.
func awaitWhy(t *testing.T, sub *v1alpha1.Subscription, want int, words ...string) string {
	t.Helper()
	var text string
	cluster.Await(t, sub, func() string {
		var code int
		text, code = run(t, filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"), "why", "-n", sub.Namespace, sub.Name)
		if code != want {
			return fmt.Sprintf("why exits with %d, want %d: %s", code, want, text)
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return fmt.Sprintf("why does not print %q: %s", w, text)
			}
		}
		return ""
	})
	return text
}

// awaitResolved waits until a Subscription is up to date and nothing blocks it, and follows the advice of the command line if OLM has not resolved it
// since the update.
func awaitResolved(t *testing.T, sub *v1alpha1.Subscription) {
	t.Helper()
	const resolve = "To have OLM resolve it now"
	cluster.Await(t, sub, func() string {
		text, code := run(t, filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"), "why", "-n", sub.Namespace, sub.Name)
		if strings.Contains(text, resolve) {
			runStep(t, text, resolve)
		}
		if code != 0 || !strings.Contains(text, "is up to date") {
			return fmt.Sprintf("why exits with %d: %s", code, text)
		}
		return ""
	})
}

// runStep runs the command that an explanation prints for a step.
func runStep(t *testing.T, text, step string) {
	t.Helper()
	_, rest, found := strings.Cut(text, step+":\n")
	if !found {
		t.Fatalf("the explanation has no step %q: %s", step, text)
	}
	command, _, _ := strings.Cut(rest, "\n")
	if out, code := run(t, "bash", "-c", command); code != 0 {
		t.Fatalf("%s: exit code %d: %s", command, code, out)
	}
}

// TestCommandLine verifies that `kubectl operator-status` explains operators on a cluster with OLM alone, and that the
// commands it suggests help.
func TestCommandLine(t *testing.T) {
	s := newStage(t, "operators", publish(t, "foo", "1.0.0"))
	kubectl, list := "kubectl", []string{"operator-status", "get", "-n", s.namespace}

	sub := s.subscribe(t, "foo", withManualApproval)
	text := awaitWhy(t, sub, 2, "Held by InstallPlan "+s.namespace+"/install-", "(RequiresApproval)", "for ", csvOf("foo", "1.0.0"))
	runStep(t, text, "To approve it")
	awaitWhy(t, sub, 0, csvOf("foo", "1.0.0")+" is running, and is up to date. Nothing blocks it.")

	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csvOf("foo", "1.0.0")}}
	setNotUpgradeable(t, condition)
	cluster.Await(t, condition, func() string {
		if !meta.IsStatusConditionFalse(condition.Status.Conditions, operatorsv2.Upgradeable) {
			return "OLM has not observed the condition"
		}
		return ""
	})
	s.offer(t, publish(t, "foo", "1.0.0", "1.1.0"))
	text = awaitWhy(t, sub, 2, "(RequiresApproval)", csvOf("foo", "1.1.0"))
	runStep(t, text, "To approve it")
	awaitWhy(t, sub, 2, csvOf("foo", "1.0.0")+" is running, and is to be updated to "+csvOf("foo", "1.1.0"),
		"Held by OperatorCondition "+s.namespace+"/"+csvOf("foo", "1.0.0"), "The update to "+csvOf("foo", "1.1.0")+" is held", "It rebalances")
	out, _ := run(t, kubectl, list...)
	for _, want := range []string{"foo ", "1.0.0 → 1.1.0", "Held", "It rebalances", "why foo -n " + s.namespace} {
		if !strings.Contains(out, want) {
			t.Errorf("get does not print %q: %s", want, out)
		}
	}

	t.Run("README", func(t *testing.T) { checkReadme(t, s) })
	t.Run("Rights", func(t *testing.T) { checkLimitedRights(t, s) })

	// Not in the namespace of the other, which OLM has once installed unapproved: it resolved a Subscription just created
	// with the approval of one just deleted.
	lost := newStage(t, "lost", publish(t, "foo", "1.0.0")).subscribe(t, "lost")
	awaitWhy(t, lost, 3, "Broken by Subscription "+lost.Namespace+"/lost", "(PackageNotFound)", "nothing is installed")

	// operator-status adds its conditions, and the same questions have the same answers.
	cluster.StartManager(t)
	cluster.Await(t, sub, func() string {
		if sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate).Status == "Unknown" {
			return "operator-status has not written its conditions"
		}
		return ""
	})
	text = awaitWhy(t, sub, 2, "Held by OperatorCondition "+s.namespace+"/"+csvOf("foo", "1.0.0"), "The update to "+csvOf("foo", "1.1.0")+" is held",
		"It rebalances")
	runStep(t, text, "To update anyway")
	awaitWhy(t, sub, 0, csvOf("foo", "1.1.0")+" is running, and is up to date. Nothing blocks it.")
}

// TestCommandLineInstall verifies that the command line installs an operator in a namespace that has nothing but a catalog.
func TestCommandLineInstall(t *testing.T) {
	s := newStage(t, "installs", publish(t, "installs", "1.0.0", "1.1.0"))
	if err := cluster.Client.DeleteAllOf(t.Context(), &operatorsv1.OperatorGroup{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	catalog := "--catalog=" + s.namespace + "/" + catalogName
	s.command(t, 0, "subscription.operators.coreos.com/installs created (server dry run)", "install", "installs", catalog, "--dry-run=server")
	s.command(t, 0, "approve -n "+s.namespace+" installs", "install", "installs", catalog, "--approval=Manual", "--starting-csv="+csvOf("installs", "1.0.0"))
	s.command(t, 1, "package installs has the Subscription ", "install", "installs", catalog)
	awaitWhy(t, &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "installs"}}, 2, "(RequiresApproval)")
	s.command(t, 0, "approved: it installs "+csvOf("installs", "1.0.0"), "approve", "installs")
	s.command(t, 0, "operator/installs is ready", "wait", "installs", "--for=ready")
	out, _ := run(t, "kubectl", "operator-status", "install", "another", "-n", s.namespace+"-new", catalog, "--dry-run=server")
	if created := strings.Count(out, " created (server dry run)"); created != 3 {
		t.Errorf("in a namespace that does not exist, %d objects would be created, want 3: %s", created, out)
	}
}

// TestCommandLineUnpacking verifies that the command line names a bundle that OLM does not come to unpack. OLM has neither an InstallPlan nor a
// version in the Subscription's status before it has.
func TestCommandLineUnpacking(t *testing.T) {
	s := newStage(t, "unpacks", publish(t, "unpacks", "1.0.0"))
	sub := s.subscribe(t, "unpacks")
	awaitWhy(t, sub, 0, csvOf("unpacks", "1.0.0")+" is running, and is up to date")
	none := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"}}
	none.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")} // that of the operator
	cluster.Create(t, none)
	config, err := testcatalog.Config(publish(t, "unpacks", "1.0.0", "1.1.0"), publish(t, "first", "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	testcatalog.Refer(&config, func(bundle string) string { return "registry.invalid/" + bundle })
	s.offerConfig(t, config)
	awaitUnpacking := func(sub *v1alpha1.Subscription) {
		t.Helper()
		awaitWhy(t, sub, 2, "Waiting by Subscription ", "(UnpackingInProgress)", "has not unpacked the bundle", "kubectl get jobs,pods -n "+s.namespace)
	}
	awaitUnpacking(sub) // OLM knows the new content then; before, it would report that the other package does not exist until all is unpacked
	awaitUnpacking(s.subscribe(t, "first"))
}

// TestCommandLineActions verifies that an administrator holds, approves, awaits and releases an update with the command line
// on a cluster with OLM alone, and can preview the commands.
func TestCommandLineActions(t *testing.T) {
	s := newStage(t, "acts", publish(t, "acts", "1.0.0"))
	sub := s.subscribe(t, "acts", withManualApproval)
	awaitWhy(t, sub, 2, "(RequiresApproval)")
	s.command(t, 0, "approved: it installs "+csvOf("acts", "1.0.0")+" (dry run)", "approve", "acts", "--dry-run=client")
	s.command(t, 0, "approved: it installs "+csvOf("acts", "1.0.0")+" (server dry run)", "approve", "acts", "--dry-run=server")
	s.command(t, 1, "timed out waiting for acts to be ready: "+s.namespace+"/acts: nothing is installed", "wait", "acts", "--for=ready", "--timeout=10s")
	s.command(t, 0, "/install-", "approve", "acts")
	s.command(t, 0, "operator/acts is up-to-date", "wait", "acts", "--for=up-to-date")
	s.command(t, 0, "1 Deployment", "tree", "acts")
	s.command(t, 1, "no InstallPlan of "+s.namespace+"/acts is waiting for approval", "approve", "acts")

	condition := "operatorcondition.operators.coreos.com/" + csvOf("acts", "1.0.0")
	s.command(t, 0, condition+" not changed: no override holds its updates", "release", "acts")
	s.command(t, 0, condition+" held: its updates wait until it is released (server dry run)", "hold", "acts", "--dry-run=server")
	s.command(t, 0, "operator/acts is upgradeable", "wait", "acts", "--for=upgradeable")
	s.command(t, 0, condition+" held", "hold", "acts", "--message=audit until Friday")
	s.command(t, 0, condition+" held already", "hold", "acts", "--message=audit until Friday")
	s.command(t, 1, "timed out waiting for acts to be upgradeable", "wait", "acts", "--for=upgradeable", "--timeout=3s")
	s.offer(t, publish(t, "acts", "1.0.0", "1.1.0"))
	awaitWhy(t, sub, 2, "(RequiresApproval)", csvOf("acts", "1.1.0"))
	s.command(t, 0, "from "+csvOf("acts", "1.0.0")+" to "+csvOf("acts", "1.1.0"), "preview", "acts")
	s.command(t, 0, "approved: it installs "+csvOf("acts", "1.1.0"), "approve", "acts")
	awaitWhy(t, sub, 2, "Held by OperatorCondition "+s.namespace+"/"+csvOf("acts", "1.0.0"), "The update to "+csvOf("acts", "1.1.0")+" is held",
		"audit until Friday")
	s.command(t, 0, "OperatorCondition "+s.namespace+"/"+csvOf("acts", "1.0.0"), "tree", "acts")
	s.command(t, 2, "audit until Friday", "check", "acts")
	checkArchive(t, s, "acts")
	s.command(t, 0, condition+" released", "release", "acts")
	awaitResolved(t, sub)
	s.command(t, 0, "operator/acts is up-to-date", "wait", "acts", "--for=up-to-date")

	s.command(t, 1, "no operator, Subscription, package or ClusterServiceVersion", "hold", "nobody")
	s.command(t, 1, "no operator, Subscription, package or ClusterServiceVersion \"nobody\" found", "wait", "nobody", "--for=ready", "--timeout=1h")
	s.command(t, 1, "--for=fame is not one of ready, up-to-date, upgradeable", "wait", "acts", "--for=fame")
	s.command(t, 1, "--undo requires --all", "release", "acts", "--undo")
	cluster.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "viewer"}},
	})
	s.command(t, 1, `resource "operatorconditions"`, "hold", "acts", "--as=viewer")
}

// TestCommandLineChecks verifies that check reports the clients that still write custom resources in a version that a
// waiting update no longer serves.
func TestCommandLineChecks(t *testing.T) {
	before := testcatalog.Foo{Name: "checks", Version: "1.0.0", Change: func(_, crd *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // it has one
		older := runtime.DeepCopyJSON(versions[0].(map[string]any))
		older["name"], older["storage"] = "v1beta1", false
		_ = unstructured.SetNestedSlice(crd.Object, append(versions, older), "spec", "versions") // it is a slice
	}}
	after := testcatalog.Foo{Name: "checks", Version: "1.1.0"}
	s := newStage(t, "checks", testcatalog.Published(t, before))
	sub := s.subscribe(t, "checks", withManualApproval)
	runStep(t, awaitWhy(t, sub, 2, "(RequiresApproval)"), "To approve it")
	if out, code := run(t, "kubectl", "operator-status", "wait", "-n", s.namespace, "checks", "--for=up-to-date"); code != 0 {
		t.Fatalf("wait exits with %d: %s", code, out)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "checks.example.com/v1beta1", "kind": "Checks", "spec": map[string]any{"size": int64(1)}}}
	o.SetNamespace(s.namespace)
	o.SetName("example")
	if err := cluster.Rediscovered(t).Client.Create(t.Context(), o, client.FieldOwner("gitops")); err != nil {
		t.Fatal(err)
	}
	s.offer(t, testcatalog.Published(t, before, after))
	awaitWhy(t, sub, 3, "1. Broken by InstallPlan", "RemovedVersionInUse", "(RequiresApproval)", after.CSV()) // before the step that approves it
	out, code := run(t, "kubectl", "operator-status", "check", "-o", "wide", "-n", s.namespace, "checks")
	if code != 3 || !strings.Contains(out, "RemovedVersionInUse") || !strings.Contains(out, "gitops writes Checks "+s.namespace+"/example in v1beta1") {
		t.Errorf("check exits with %d: %s", code, out)
	}
	out, code = run(t, "kubectl", "operator-status", "preview", "-n", s.namespace, "checks")
	for _, want := range []string{
		", from " + before.CSV() + " to " + after.CSV(), "checkss.checks.example.com: no longer serves v1beta1",
		"BROKEN: it no longer serves a version in use: gitops writes Checks " + s.namespace + "/example in v1beta1", "Held: InstallPlan " + s.namespace,
	} {
		if code != 3 || !strings.Contains(out, want) {
			t.Errorf("preview exits with %d, and does not print %q: %s", code, want, out)
		}
	}
}

// checkArchive verifies that archives of the cluster, and of a namespace, give the same answers as the cluster.
func checkArchive(t *testing.T, s *stage, name string) {
	t.Helper()
	answers := func(program string, flags ...string) string {
		var out strings.Builder
		for _, args := range [][]string{{"get", "-o", "yaml"}, {"why", name}, {"tree", name}, {"check", "-o", "yaml"}} {
			text, code := run(t, program, slices.Concat(args, []string{"-n", s.namespace}, flags)...)
			fmt.Fprintf(&out, "%s\n%sexit code %d\n", strings.Join(args, " "), differs.ReplaceAllString(text, ""), code)
		}
		return out.String()
	}
	program := filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status")
	kubeconfig := "--kubeconfig=" + filepath.Join(clusterDir, "kubeconfig")
	gather := func(flags ...string) (file string) {
		file = filepath.Join(t.TempDir(), "cluster.tar.gz")
		out, code := run(t, "kubectl", append([]string{"operator-status", "gather", "--output=" + file}, flags...)...)
		if code != 0 || !strings.Contains(out, "subscriptions") {
			t.Fatalf("gather exits with %d: %s", code, out)
		}
		return file
	}
	var live, file, part string
	cluster.Await(t, &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}, func() string {
		live, file, part = answers(program, kubeconfig), gather(), gather("-n", s.namespace)
		if live != answers(program, kubeconfig) {
			return "the cluster changed during gather"
		}
		return ""
	})
	for what, file := range map[string]string{"cluster": file, "namespace": part} {
		if archived := answers(program, "--from="+file, "--kubeconfig=/dev/null"); archived != live {
			t.Errorf("commands print for the archive of the %s\n%s\nwant the output for the cluster:\n%s", what, archived, live)
		}
	}
	if out, code := run(t, "kubectl", "operator-status", "approve", name, "--from="+file); code != 1 || !strings.Contains(out, "does not accept --from") {
		t.Errorf("approve --from exits with %d: %s", code, out)
	}
}

// differs matches the differences between a cluster and its archive: ages, the flags that tell where to read, and the warning about checks
// that need a cluster.
var differs = regexp.MustCompile(`(?m), for \S+| --(?:kubeconfig|from)=\S+|^Warning: cannot check whether updates would break .*\n`)

// setNotUpgradeable sets Upgradeable=False in an OperatorCondition as its operator does.
func setNotUpgradeable(t *testing.T, o *operatorsv2.OperatorCondition) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"conditions":[{"type":"Upgradeable","status":"False","reason":"Busy","message":"It rebalances","lastTransitionTime":%q}]}}`,
		metav1.Now().UTC().Format(time.RFC3339))
	cluster.Await(t, o, func() string { return "" }) // OLM creates it
	if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// checkLimitedRights verifies that a user sees the objects that the user may read, and a warning about the others.
func checkLimitedRights(t *testing.T, s *stage) {
	t.Helper()
	cluster.Create(t,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "few"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"subscriptions", "clusterserviceversions"}, Verbs: []string{"list"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "few"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "few"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "few"}},
		})
	out, code := run(t, "kubectl", "operator-status", "get", "-n", s.namespace, "--as=few")
	if code != 0 || !strings.Contains(out, "1.0.0") || !strings.Contains(out, "Warning: you may not list InstallPlans") {
		t.Errorf("get with limited rights exits with %d: %s", code, out)
	}
	// Whether its CatalogSource exists is not known, but OLM's hold shows in the ClusterServiceVersion.
	out, code = run(t, "kubectl", "operator-status", "why", "foo", "-n", s.namespace, "--as=few")
	if code != 2 || strings.Contains(out, "Broken") || !strings.Contains(out, "Held by") {
		t.Errorf("why with limited rights exits with %d for a held update: %s", code, out)
	}
	out, code = run(t, "kubectl", "operator-status", "get", "-n", s.namespace, "--as=nobody")
	if code != 1 || !strings.Contains(out, "error: listing Subscriptions: subscriptions.operators.coreos.com is forbidden") {
		t.Errorf("get without rights exits with %d: %s", code, out)
	}
}

// checkReadme verifies that the README shows the output of kubectl and the command line for an update that OLM holds, except
// for the names of namespace and catalog, ages and the width of columns.
func checkReadme(t *testing.T, s *stage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"kubectl get subscriptions.operators.coreos.com,clusterserviceversions.operators.coreos.com", "kubectl operator-status get", "kubectl operator-status why foo"} {
		args := append(strings.Fields(command), "-n", s.namespace)
		printed, _ := run(t, args[0], args[1:]...)
		want := "$ " + strings.Join(args, " ") + "\n" + printed
		var got strings.Builder
		_, shown, _ := strings.Cut(string(text), "$ "+command+" -n ")
		for line := range strings.Lines("$ " + command + " -n " + shown) {
			if line = strings.TrimPrefix(line, "    "); strings.HasPrefix(line, "$ ") && got.Len() > 0 {
				break
			}
			got.WriteString(line)
		}
		if !strings.HasPrefix(inReadme(got.String()), inReadme(strings.ReplaceAll(want, s.namespace, "operators"))) {
			t.Errorf("the README does not show the output of %q:\n%s", command, want)
		}
	}
}

// inReadme returns text without ages and the width of columns.
func inReadme(text string) string {
	return columns.ReplaceAllString(age.ReplaceAllString(text, "AGE"), " ")
}

var (
	age     = regexp.MustCompile(`\b\d+(s|m|h|d|m\d+s)\b`)
	columns = regexp.MustCompile(` +`)
)
