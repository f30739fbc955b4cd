package gitops

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// synced is a program that installs an operator from Git.
type synced struct {
	named     string
	installer holdv1alpha1.Installer
	git       repository

	// files returns the content of Git for a version.
	files func(o story.Op, version string) map[string]string

	// begin has the program sync the repository, and asked has it read Git at once.
	begin func(t *testing.T)
	asked func(t *testing.T)

	// state is the object in which it reports.
	state *unstructured.Unstructured

	// fields are the parts of the status with its reports, and done reports whether it is content.
	fields [][]string
	done   func(*unstructured.Unstructured) bool

	ownKinds []string
	version  string
}

func (s *synced) Install(t *testing.T, o story.Op, version string) {
	t.Helper()
	for file, content := range s.files(o, version) {
		s.git.commit(t, file, content)
	}
	if s.version == "" {
		s.begin(t)
	}
	s.version = version
	s.asked(t)
}

func (s *synced) Report(t *testing.T, _ story.Op) string {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(s.state), s.state); err != nil {
		t.Fatal(err)
	}
	if s.done(s.state) {
		return ""
	}
	var out []string
	for _, path := range s.fields {
		value, _, _ := unstructured.NestedFieldNoCopy(s.state.Object, path...) // none if not found
		out = append(out, fmt.Sprint(value))
	}
	return strings.Join(out, "\n")
}

func (s *synced) Named() string { return s.named }

func (s *synced) Reference(o story.Op) holdv1alpha1.OperatorReference {
	return holdv1alpha1.OperatorReference{Installer: s.installer, Namespace: o.Namespace, Name: o.Name}
}

func (s *synced) Own(o *unstructured.Unstructured) bool {
	for _, kind := range s.ownKinds {
		if o.GetKind() == kind {
			return true
		}
	}
	return s.installer == holdv1alpha1.InstallerWorkload && o.GetKind() == "ConfigMap" && o.GetName() == "settings"
}

// isReady reports whether an object of Flux is Ready with its current spec and source.
func isReady(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // none if not found
	for _, c := range conditions {
		if condition := c.(map[string]any); condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

// fluxSource is the repository that Flux installs from.
const fluxSource = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: NAME, namespace: NAMESPACE}
spec: {url: "URL", interval: 1s, ref: {branch: main}}
---
`

// fluxed returns Flux with an object of a kind, with the defaults of Flux: it does not try again soon after a failure.
func fluxed(t *testing.T, kind string, o story.Op, git repository) *synced {
	t.Helper()
	s := &synced{
		named: "Flux", installer: holdv1alpha1.InstallerWorkload, git: git, ownKinds: []string{"GitRepository", kind}, done: isReady,
		fields: [][]string{{"status", "conditions"}}, state: builder.Object("kustomize.toolkit.fluxcd.io/v1", kind, o.Namespace, o.Name),
		asked: func(*testing.T) {}, // it reads Git every second
		files: func(o story.Op, version string) map[string]string {
			return map[string]string{"plain/operator.yaml": o.Manifests(version)}
		},
	}
	manifest := `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: NAMESPACE}
spec: {interval: 10m, path: ./plain, prune: true, sourceRef: {kind: GitRepository, name: NAME}}
`
	if kind == "HelmRelease" {
		s.installer, s.ownKinds = holdv1alpha1.InstallerHelm, append(s.ownKinds, "HelmChart")
		s.state.SetAPIVersion("helm.toolkit.fluxcd.io/v2")
		s.files = func(o story.Op, version string) map[string]string {
			return map[string]string{
				"chart/templates/operator.yaml": o.Manifests(version),
				"chart/Chart.yaml":              "apiVersion: v2\nname: " + o.Name + "\nversion: " + version + "\n",
			}
		}
		manifest = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  interval: 10m
  releaseName: NAME
  chart: {spec: {chart: ./chart, interval: 1s, sourceRef: {kind: GitRepository, name: NAME}}}
`
	}
	url := git.serve(t)
	s.begin = func(t *testing.T) {
		t.Helper()
		cluster.Rediscovered(t).Apply(t, o.Namespace, strings.NewReplacer("NAMESPACE", o.Namespace, "NAME", o.Name, "URL", url).Replace(fluxSource+manifest))
	}
	return s
}

// argued returns Argo CD with an Application.
func argued(t *testing.T, o story.Op, git repository, option string) *synced {
	t.Helper()
	a := newArgo(t)
	a.app.SetName(o.Name)
	return &synced{
		named: "Argo CD", installer: holdv1alpha1.InstallerWorkload, git: git, state: a.app, ownKinds: []string{"Application", "AppProject"},
		files: func(o story.Op, version string) map[string]string {
			return map[string]string{"operator.yaml": o.Manifests(version)}
		},
		begin: func(t *testing.T) {
			t.Helper()
			cluster.Rediscovered(t).Apply(t, "argocd", application(t, o.Name, git, o.Namespace, "ServerSideApply=true", option))
		},
		asked:  a.refresh,
		fields: [][]string{{"status", "operationState"}, {"status", "conditions"}},
		done: func(*unstructured.Unstructured) bool {
			return a.field("operationState", "phase") == "Succeeded" && a.field("sync", "status") == "Synced" &&
				a.field("operationState", "syncResult", "revision") == git.head(t)
		},
	}
}

// TestHeldFlux tells the stories of a HelmRelease, which a ProbePolicy holds, and of a Kustomization.
func TestHeldFlux(t *testing.T) {
	startFlux(t, "flux-of-held")
	for _, kind := range []string{"HelmRelease", "Kustomization"} {
		t.Run(kind, func(t *testing.T) {
			o := story.New(t, cluster, filepath.Join(clusterDir, "kubeconfig"), "by-"+strings.ToLower(kind))
			o.ByPolicy = kind == "HelmRelease"
			s := fluxed(t, kind, o, newRepository(t))
			story.Tell(t, s, o)
			s.checkFailure(t, o)
		})
	}
}

// checkFailure verifies that the command line names the object of Flux or Argo CD that cannot be applied from Git.
func (s *synced) checkFailure(t *testing.T, o story.Op) {
	t.Helper()
	for file, content := range s.files(o, "9.0.0") {
		if strings.HasSuffix(file, "operator.yaml") {
			content += "\n---\napiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: nothing, namespace: " + o.Namespace + "}\n"
		}
		s.git.commit(t, file, content)
	}
	s.asked(t)
	operatorStatus := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"), append(args, "--kubeconfig", o.Kubeconfig)...)
		out, _ := cmd.CombinedOutput() // the exit code is returned
		return string(out), cmd.ProcessState.ExitCode()
	}
	cause := "Broken by " + s.state.GetKind() + " " + s.state.GetNamespace() + "/" + o.Name
	cluster.Await(t, s.state, func() string {
		if out, code := operatorStatus("why", o.Name, "-n", o.Namespace); code != 3 || !strings.Contains(out, cause) {
			return fmt.Sprintf("why exits with %d: %s", code, out)
		}
		file := filepath.Join(t.TempDir(), "cluster.tar.gz") // while it tries again, it has not failed
		if out, code := operatorStatus("gather", "--output="+file); code != 0 {
			t.Fatalf("gather exits with %d: %s", code, out)
		}
		if out, code := operatorStatus("why", o.Name, "-n", o.Namespace, "--from="+file); code != 3 || !strings.Contains(out, cause) {
			return fmt.Sprintf("of an archive, why exits with %d: %s", code, out)
		}
		return ""
	})
}

// TestHeldArgoCD tells the story of an Application, with client-side apply, and with server-side apply and a ProbePolicy.
func TestHeldArgoCD(t *testing.T) {
	for _, option := range []string{"ServerSideApply=false", "ServerSideApply=true"} {
		t.Run(option, func(t *testing.T) {
			o := story.New(t, cluster, filepath.Join(clusterDir, "kubeconfig"), "by-argo-"+strings.TrimPrefix(strings.ToLower(option), "serversideapply="))
			o.ByPolicy = option == "ServerSideApply=true"
			s := argued(t, o, newRepository(t), option)
			story.Tell(t, s, o)
			s.checkFailure(t, o)
		})
	}
}
