package store

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

var (
	cosign = flag.String("cosign", "", "the program of cosign to sign with, instead of reading testdata/cosign.json")
	update = flag.Bool("update", false, "write testdata/cosign.json anew, with -cosign")
)

// signedByCosign is the result of signing an image with cosign, as stored in testdata/cosign.json.
type signedByCosign struct {
	Version    string              `json:"version"`
	Key        string              `json:"key"`
	Digest     string              `json:"digest"`
	Signatures []catalog.Signature `json:"signatures"`
}

// TestCosign verifies signatures made by cosign in both of its formats. Without the cosign program, it uses those in
// testdata.
func TestCosign(t *testing.T) {
	got := signatures(t)
	simple, enveloped := 0, 0
	for _, s := range got.Signatures {
		if s.Simple != nil {
			simple++
		}
		if s.DSSE != nil {
			enveloped++
		}
		demand := []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"k": got.Key}, policyv1alpha1.AllImages)}
		if _, err := verify("image", got.Digest, []catalog.Signature{s}, demand); err != nil {
			t.Error(err)
		}
		if _, err := verify("image", "sha256:"+strings.Repeat("0", 64), []catalog.Signature{s}, demand); err == nil {
			t.Error("the signature of another image is accepted")
		}
	}
	if simple != 1 || enveloped != 1 {
		t.Errorf("%d signatures before version 3 and %d since: want one of each", simple, enveloped)
	}
}

// signatures returns signatures made by cosign now, or else those in testdata.
func signatures(t *testing.T) (out signedByCosign) {
	file := filepath.Join("testdata", "cosign.json")
	if *cosign != "" {
		out = signByCosign(t)
	}
	if *update {
		text, err := json.MarshalIndent(out, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if *cosign == "" {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("signed by cosign %s", out.Version)
	return out
}

// signByCosign signs an image in a registry with cosign, in both formats, and reads the signatures as the manager does.
func signByCosign(t *testing.T) signedByCosign {
	dir := t.TempDir()
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), *cosign, args...) // as the flag asks
		command.Dir, command.Env = dir, append(os.Environ(), "COSIGN_PASSWORD=")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("cosign %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	registry := catalogtest.NewRegistry(t, "")
	image, digest := registry.Push(t, "catalog", nil, catalogtest.Files("configs/foo/catalog.yaml", catalogtest.FBC("foo", "1.0.0")))
	run("generate-key-pair")
	for _, format := range []string{"--new-bundle-format=false", "--new-bundle-format=true"} {
		run("sign", "--key=cosign.key", format, "--use-signing-config=false", "--tlog-upload=false", "--yes", "--allow-http-registry", image+"@"+digest)
	}
	key, err := os.ReadFile(filepath.Join(dir, "cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	out := signedByCosign{Version: versionOf(run("version")), Key: string(key), Digest: digest}
	scheme := runtime.NewScheme()
	if err := policyv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	policy := imagePolicy("p", map[string]string{"k": out.Key}, "*")
	a := access{
		readers: newReaders(t.TempDir(), catalog.DefaultLimits), limits: catalog.DefaultLimits, route: Anywhere.of(types.NamespacedName{Namespace: "a", Name: "b"}),
		signing: signing{fake.NewClientBuilder().WithScheme(scheme).WithObjects(&policy).Build()},
	}
	err = a.ask(context.Background(), catalog.Request{Image: image}, nil, func(c *conversation, answer catalog.Answer) error {
		if answer.Resolved != nil {
			out.Signatures = answer.Resolved.Signatures
			return c.send(catalog.Verdict{})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func versionOf(text string) string {
	for line := range strings.Lines(text) {
		if version, ok := strings.CutPrefix(line, "GitVersion:"); ok {
			return strings.TrimSpace(version)
		}
	}
	return ""
}
