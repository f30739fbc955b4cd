package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestFormats reads archives that tar, gzip, xz and zip wrote, and other files.
func TestFormats(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "manifest.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {namespace: a, name: foo}\n")
	write(t, folder, "note.txt", "The cluster is slow.")
	write(t, folder, "book.txt", strings.Repeat("The cluster is slow. ", 100))
	write(t, folder, "empty", "")
	write(t, folder, "broken.zip", "PK\x03\x04")
	write(t, folder, "broken.gz", "\x1f\x8b")
	cases := map[string]struct {
		reason string
		file   string
		err    string // a part of the error
	}{
		"Gzip":     {"oc adm inspect and users compress with gzip.", "testdata/must-gather.tar.gz", ""},
		"XZ":       {"sosreport and the portals of support compress with xz.", "testdata/must-gather.tar.xz", ""},
		"Zip":      {"So do desktops, with zip.", "testdata/must-gather.zip", ""},
		"Manifest": {"The output of kubectl get -o yaml needs no archive.", filepath.Join(folder, "manifest.yaml"), ""},
		"Memory":   {"A few bytes may demand a dictionary of any size.", "testdata/large-dictionary.tar.xz", "xz: LZMA2 dictionary size exceeds max"},
		"Text":     {"A file of another kind is refused, with what can be read.", filepath.Join(folder, "book.txt"), "it is no folder, manifest, zip or tar file"},
		"Short":    {"So is one that is shorter than a header.", filepath.Join(folder, "note.txt"), "it is no folder, manifest, zip or tar file"},
		"Empty":    {"A file without content has no objects.", filepath.Join(folder, "empty"), "has no objects of OLM"},
		"NoZip":    {"A file may only begin like an archive.", filepath.Join(folder, "broken.zip"), "zip: not a valid zip file"},
		"NoGzip":   {"A file may only begin like a compressed one.", filepath.Join(folder, "broken.gz"), "unexpected EOF"},
		"Missing":  {"A file may not exist.", filepath.Join(folder, "missing"), "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Open([]string{tc.file}, testScheme(t))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{"a/foo"}, names(t, got, &v1alpha1.SubscriptionList{})); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if taken := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC); tc.file != filepath.Join(folder, "manifest.yaml") && !got.Taken.Equal(taken) {
				t.Errorf("%s\ntaken at %s", tc.reason, got.Taken)
			}
		})
	}
}

// TestUnpacked verifies that a small file that unpacks to very many bytes is refused, although nothing in it is read.
func TestUnpacked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "zeros.tar.gz")
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	files := tar.NewWriter(compressed)
	if err := files.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: 10 << 20}); err != nil {
		t.Fatal(err)
	}
	_, err := files.Write(make([]byte, 10<<20))
	if err := errors.Join(err, files.Close(), compressed.Close(), os.WriteFile(name, content.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	few := defaultLimits
	few.unpacked = 1 << 20
	if _, err := open([]string{name}, testScheme(t), few); err == nil || !strings.Contains(err.Error(), "it unpacks to more than 1MiB") {
		t.Errorf("%d bytes that unpack to 10 MiB: %v", content.Len(), err)
	}
}

// TestDamaged verifies that an archive with any wrong bytes is read or refused.
func TestDamaged(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, file := range []string{"must-gather.tar.gz", "must-gather.tar.xz", "must-gather.zip"} {
		original, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for range 500 {
			damaged := append([]byte(nil), original[:1+r.IntN(len(original))]...)
			for range 1 + r.IntN(4) {
				damaged[r.IntN(len(damaged))] = byte(r.IntN(256))
			}
			name := filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _ = Open([]string{name}, testScheme(t)) // it must not panic
		}
	}
}

// TestSeveral verifies that archives complement each other.
func TestSeveral(t *testing.T) {
	newFolder := func(taken, notes string, versions ...string) string {
		out := t.TempDir()
		write(t, out, timestamp, taken)
		if notes != "" {
			write(t, out, Notes, notes)
		}
		for _, v := range versions {
			write(t, out, v+".yaml", "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {namespace: a, name: foo, generation: "+v+"}}")
		}
		return out
	}
	first, second := newFolder("2026-01-02T03:04:05Z", "", "1"), newFolder("2026-01-02T03:04:04Z", "", "2")
	got, err := Open([]string{first, second}, testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	list := &v1alpha1.SubscriptionList{}
	if err := got.List(t.Context(), list); err != nil || len(list.Items) != 1 || list.Items[0].Generation != 2 {
		t.Errorf("got %+v, %v; want the one of the second archive", list.Items, err)
	}
	if got.Taken.Second() != 5 {
		t.Errorf("taken at %s, want when the last of them was", got.Taken)
	}
	const unread = Unread + "clusterserviceversions.operators.coreos.com\n" + Unread + "deployments.apps\n"
	gathered, complete := newFolder("2026-01-02T03:04:05Z", unread, "3"), newFolder("2026-01-02T03:04:05Z", "\n", "4")
	cases := map[string]struct {
		reason            string
		from              []string
		csvs, deployments bool // whether they are missing
	}{
		"MustGather": {"A must-gather of a cluster with OLM has its ClusterServiceVersions.", []string{first}, true, false},
		"Gathered":   {"The output of gather notes what it could not read.", []string{gathered}, true, true},
		"Both":       {"What one of them would have is not missing because the other could not read it.", []string{first, gathered}, true, false},
		"Complete":   {"One that could read everything tells that there are none.", []string{gathered, complete}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := Open(tc.from, testScheme(t))
			if err != nil {
				t.Fatal(err)
			}
			csvs, deployments := a.List(t.Context(), &v1alpha1.ClusterServiceVersionList{}) != nil, a.List(t.Context(), &appsv1.DeploymentList{}) != nil
			if csvs != tc.csvs || deployments != tc.deployments {
				t.Errorf("%s\nClusterServiceVersions missing: %t, Deployments: %t", tc.reason, csvs, deployments)
			}
		})
	}
}
