package installers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestKubectl tells the story of an operator that a user applies.
func TestKubectl(t *testing.T) {
	o := story.New(t, cluster, kubeconfig, "applied")
	story.Tell(t, &commandLine{
		installer: holdv1alpha1.InstallerWorkload,
		run: func(_ *testing.T, file, _ string) *exec.Cmd {
			return command("controlplane/kubectl", "apply", "--server-side", "-f", file)
		},
	}, o)
}

// TestHelm tells the story of a Helm release whose author annotated its CustomResourceDefinition.
func TestHelm(t *testing.T) {
	if _, err := os.Stat(filepath.Join(testcluster.Root(), "bin", "helm")); err != nil {
		t.Skip("skipped: make e2e-installers builds helm: ", err)
	}
	o := story.New(t, cluster, kubeconfig, "released")
	o.Annotated = true
	story.Tell(t, &commandLine{
		installer: holdv1alpha1.InstallerHelm,
		run: func(t *testing.T, _, version string) *exec.Cmd {
			return command("helm", "upgrade", "--install", o.Name, neighbour.Chart(t, o, version), "--namespace="+o.Namespace)
		},
	}, o)
}

// commandLine is a program that a user runs, and runs again after it failed.
type commandLine struct {
	installer holdv1alpha1.Installer

	// run returns the command that applies the file with the manifests of a version.
	run func(t *testing.T, file, version string) *exec.Cmd

	again func() string
}

func (c *commandLine) Install(t *testing.T, o story.Op, version string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(file, []byte(o.Manifests(version)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.again = func() string {
		out, err := c.run(t, file, version).CombinedOutput()
		if err == nil {
			return ""
		}
		return string(out)
	}
	if out := c.again(); out != "" && version == story.First {
		t.Fatal(out)
	}
}

func (c *commandLine) Report(*testing.T, story.Op) string { return c.again() }

func (c *commandLine) Named() string { return string(c.installer) }

func (c *commandLine) Reference(o story.Op) holdv1alpha1.OperatorReference {
	return holdv1alpha1.OperatorReference{Installer: c.installer, Namespace: o.Namespace, Name: o.Name}
}

// Own includes the ConfigMap of an operator that kubectl applies: kubectl sends one object after the other, and writes no record of the
// version that they belong to.
func (c *commandLine) Own(o *unstructured.Unstructured) bool {
	return c.installer == holdv1alpha1.InstallerWorkload && o.GetKind() == "ConfigMap" && o.GetName() == "settings"
}

// command returns a command that acts on the cluster.
func command(name string, args ...string) *exec.Cmd {
	out := exec.Command(filepath.Join(testcluster.Root(), "bin", name), args...)
	out.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	return out
}
