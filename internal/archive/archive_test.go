package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// names returns the objects of a kind in an archive.
func names(t *testing.T, a *Archive, list client.ObjectList, opts ...client.ListOption) []string {
	t.Helper()
	if err := a.List(t.Context(), list, opts...); err != nil {
		t.Fatal(err)
	}
	var out []string
	switch list := list.(type) {
	case *v1alpha1.SubscriptionList:
		for _, o := range list.Items {
			out = append(out, client.ObjectKeyFromObject(&o).String())
		}
	case *appsv1.DeploymentList:
		for _, o := range list.Items {
			out = append(out, client.ObjectKeyFromObject(&o).String())
		}
	case *corev1.EventList:
		for _, o := range list.Items {
			out = append(out, client.ObjectKeyFromObject(&o).String())
		}
	}
	return out
}

// TestOpen reads folders as a must-gather and others write them.
func TestOpen(t *testing.T) {
	subscription := func(namespace, name string) string {
		return "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {namespace: " + namespace + ", name: " + name + "}\n"
	}
	cases := map[string]struct {
		reason  string
		files   map[string]string
		want    []string
		skipped string // words of why something is
		err     string
		taken   string
	}{
		"MustGather": {
			reason: "Each object has a file of its own, below the folder of an image.",
			files: map[string]string{
				"must-gather/quay-io-sha256/namespaces/b/operators.coreos.com/subscriptions/foo.yaml": "---\n" + subscription("b", "foo"),
				"must-gather/quay-io-sha256/namespaces/a/operators.coreos.com/subscriptions/foo.yaml": "---\n" + subscription("a", "foo"),
				"must-gather/timestamp": "2026-01-02 03:04:05.678 +0000 UTC m=+0.1\n2026-01-02 03:14:05.678 +0000 UTC m=+600.1\n",
			},
			want: []string{"a/foo", "b/foo"}, taken: "2026-01-02T03:14:05Z",
		},
		"Lists": {
			reason: "Items of a List are read, whether they have a kind or not.",
			files: map[string]string{
				"list.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(subscription("a", "one")), "\n", "\n  ") + "\n",
				"subscriptions.json": `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"SubscriptionList",
					"items":[{"metadata":{"namespace":"a","name":"two"}}]}`,
			},
			want: []string{"a/one", "a/two"},
		},
		"Stream": {
			reason: "Objects in JSON may follow each other.",
			files: map[string]string{"foo.json": `
				{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"namespace": "a", "name": "one"}}
				{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"namespace": "a", "name": "two"}}`},
			want: []string{"a/one", "a/two"},
		},
		"Signs": {
			reason: "Texts may have the signs of anchors and aliases.",
			files: map[string]string{
				"foo.yaml": subscription("a", "foo") + "spec:\n  name: \"&a and *a\"\n  startingCSV: |\n    &a\n    *a\n",
			},
			want: []string{"a/foo"},
		},
		"Twice": {
			reason: "An object that several images of a must-gather collected is listed once.",
			files:  map[string]string{"x/foo.yaml": subscription("a", "foo"), "y/foo.yaml": subscription("a", "foo")},
			want:   []string{"a/foo"},
		},
		"Malformed": {
			reason: "An object that cannot be decoded is skipped, and the others are read.",
			files: map[string]string{
				"bad.yaml":  "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: bad}\nspec: {version: latest}\n",
				"good.yaml": subscription("a", "foo"),
			},
			want: []string{"a/foo"}, skipped: "bad.yaml: ClusterServiceVersion",
		},
		"Truncated": {
			reason: "A file that is not YAML is skipped, and the others are read.",
			files:  map[string]string{"bad.yaml": "operators.coreos.com/v1alpha1: [", "good.yaml": subscription("a", "foo")},
			want:   []string{"a/foo"}, skipped: "bad.yaml: ",
		},
		"Others": {
			reason: "Logs and objects of other kinds are ignored.",
			files: map[string]string{
				"a.log": subscription("a", "log"), "pods.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "foo.yaml": subscription("a", "foo"),
			},
			want: []string{"a/foo"},
		},
		"Empty": {
			reason: "A folder without objects of OLM is an error, not a cluster without operators.",
			files:  map[string]string{"pods.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"},
			err:    "has no objects of OLM or operator-status",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, content := range tc.files {
				file = filepath.Join(folder, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			a, err := Open([]string{folder}, testScheme(t))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, names(t, a, &v1alpha1.SubscriptionList{})); diff != "" {
				t.Errorf("%s\nSubscriptions: -want +got\n%s", tc.reason, diff)
			}
			if skipped := strings.Join(a.Skipped, "\n"); !strings.Contains(skipped, tc.skipped) || tc.skipped == "" && skipped != "" {
				t.Errorf("%s\nskipped is %q, want %q", tc.reason, skipped, tc.skipped)
			}
			if tc.taken != "" && a.Taken.UTC().Format(time.RFC3339) != tc.taken {
				t.Errorf("%s\nit was taken at %s, want %s", tc.reason, a.Taken, tc.taken)
			}
		})
	}
}

// TestRoundTrip verifies that Open reads the objects that a Writer writes, and that List selects them as an API server does.
func TestRoundTrip(t *testing.T) {
	file, taken := filepath.Join(t.TempDir(), "a.tar.gz"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var content bytes.Buffer
	w, err := NewWriter(&content, "a", taken)
	if err != nil {
		t.Fatal(err)
	}
	for _, deployment := range []string{
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"a","name":"owned","labels":{"olm.owner":"foo.v1"}}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"a","name":"other"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"b","name":"owned","labels":{"olm.owner":"bar.v1"}}}`,
	} {
		if err := w.Object(builder.FromJSON(deployment), "deployments"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Log("a", "pod", "manager", []byte("password=hunter2\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Open([]string{file}, testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	owned, err := labels.Parse("olm.owner")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{
		"all":         names(t, a, &appsv1.DeploymentList{}),
		"namespace":   names(t, a, &appsv1.DeploymentList{}, client.InNamespace("a")),
		"labels":      names(t, a, &appsv1.DeploymentList{}, client.MatchingLabelsSelector{Selector: owned}),
		"other kinds": names(t, a, &v1alpha1.SubscriptionList{}),
	}
	want := map[string][]string{
		"all": {"a/other", "a/owned", "b/owned"}, "namespace": {"a/other", "a/owned"}, "labels": {"a/owned", "b/owned"}, "other kinds": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !a.Taken.Equal(taken) {
		t.Errorf("it was taken at %s, want %s", a.Taken, taken)
	}
}

// TestLimits verifies that an archive that would take too much memory is refused, or its file skipped, with advice.
func TestLimits(t *testing.T) {
	const head = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
	fine := head + "metadata: {namespace: a, name: fine}\nspec: {name: foo, source: b, sourceNamespace: c}\n"
	small := limits{file: 1 << 20, nodes: 1000, files: 20, read: 5 << 20, parsed: 2 << 20, values: 5000}
	aliases := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	text := "a: &a " + strings.Repeat("x", 500<<10) + "\nb: [" + strings.Repeat("*a,", 200) + "*a]\n"
	several := func(n int, text string) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("b%03d.yaml", i)] = text
		}
		return out
	}
	cases := map[string]struct {
		reason  string
		files   map[string]string
		refused string // a part of the error
		skipped string // a part of the note
	}{
		"Fine":    {"A small archive is read completely.", nil, "", ""},
		"Large":   {"A file larger than the limit is skipped.", several(1, head+"x: "+strings.Repeat("x", 1<<20)), "", "its size of 1MiB exceeds the limit of 1MiB"},
		"List":    {"A file with too many values is skipped, since a YAML value takes far more memory than its text.", several(1, head+"x:\n"+strings.Repeat("- a\n", 2000)), "", "values, more than the limit of 1000"},
		"Flow":    {"Values in flow style are counted, too.", several(1, head+"x: "+strings.Repeat("[", 2000)), "", "values, more than the limit of 1000"},
		"Aliases": {"A file with aliases is skipped, since they can expand to very many values.", several(1, aliases+head), "", "it is not YAML without aliases"},
		"Text":    {"Few aliases can also stand for very many bytes.", several(1, head+text), "", "it is not YAML without aliases"},
		"UTF16":   {"A file in another encoding is skipped, since it may hide its aliases.", several(1, "\xff\xfe"+head), "", "it is not in UTF-8"},
		"Files":   {"An archive with too many files is refused.", several(30, "a: b"), "more than 20 files", ""},
		"Values":  {"An archive is refused if its files together have too many values.", several(15, head+"x:\n"+strings.Repeat("- a\n", 900)), "or more than 5000 values", ""},
		"Names":   {"An object whose name is not valid is skipped, since names are printed in commands.", several(1, head+"metadata: {name: \"foo; curl | sh\"}\n"), "", `"/foo; curl | sh" is not a valid name`},
		"NoName":  {"An object without a name is skipped.", several(1, head), "", "is not a valid name"},
		"Others":  {"An archive is refused if it has too much of other files that could have manifests.", several(8, strings.Repeat("x", 900<<10)), "more than 5MiB of files", ""},
		"Much":    {"An archive is refused if its files together are too large.", several(15, head+"x: "+strings.Repeat("x", 200<<10)), "more than 2MiB of manifests", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range tc.files {
				write(t, folder, file, text)
			}
			write(t, folder, "a.yaml", fine)
			got, err := open([]string{folder}, testScheme(t), small)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "into a folder") {
					t.Errorf("%s\n%v; want %q", tc.reason, err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if skipped := strings.Join(got.Skipped, "\n"); (skipped == "") != (tc.skipped == "") || !strings.Contains(skipped, tc.skipped) {
				t.Errorf("%s\nskipped %q; want %q", tc.reason, skipped, tc.skipped)
			}
			list := &v1alpha1.SubscriptionList{}
			if err := got.List(t.Context(), list); err != nil || len(list.Items) != 1 {
				t.Errorf("%d Subscriptions, %v", len(list.Items), err)
			}
		})
	}
}

func write(t *testing.T, folder, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLinks verifies that nothing outside a folder or a tar file is read or written, whatever its names and links are.
func TestLinks(t *testing.T) {
	subscription := func(name string) string {
		return "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {namespace: a, name: " + name + "}, spec: {name: foo}}"
	}
	outside := t.TempDir()
	write(t, outside, "outside.yaml", subscription("outside"))
	folder := t.TempDir()
	write(t, folder, "a.yaml", subscription("inside"))
	for link, to := range map[string]string{"b.yaml": filepath.Join(outside, "outside.yaml"), "up": outside, "zero.yaml": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	files := tar.NewWriter(&text)
	for _, h := range []tar.Header{
		{Name: "a.yaml", Typeflag: tar.TypeReg, Size: int64(len(subscription("inside")))},
		{Name: "b.yaml", Typeflag: tar.TypeSymlink, Linkname: filepath.Join(outside, "outside.yaml")},
		{Name: "c.yaml", Typeflag: tar.TypeLink, Linkname: filepath.Join(outside, "outside.yaml")},
		{Name: "d.yaml", Typeflag: tar.TypeFifo},
		{Name: filepath.Join("..", filepath.Base(outside), "written.yaml"), Typeflag: tar.TypeReg, Size: 1},
	} {
		if err := files.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size == 1 {
			_, _ = files.Write([]byte("x"))
		} else if h.Size > 0 {
			_, _ = files.Write([]byte(subscription("inside")))
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "archive.tar")
	write(t, filepath.Dir(name), filepath.Base(name), text.String())
	for _, from := range []string{folder, name} {
		got, err := Open([]string{from}, testScheme(t))
		if err != nil {
			t.Fatal(err)
		}
		list := &v1alpha1.SubscriptionList{}
		if err := got.List(t.Context(), list); err != nil || len(list.Items) != 1 || list.Items[0].Name != "inside" {
			t.Errorf("%s contains %+v, %v", from, list.Items, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("the outside folder contains %v, %v", entries, err)
	}
}

// TestEvents verifies that Events are read, although they need not name the version of a group.
func TestEvents(t *testing.T) {
	cases := map[string]struct {
		reason, file, text string
	}{
		"File": {
			"gather writes a file for each Event.", "foo.yaml",
			"apiVersion: v1\ninvolvedObject:\n  apiVersion: v1\n  kind: Pod\n  name: foo\nkind: Event\nmetadata:\n  name: foo\n  namespace: a\n",
		},
		"List": {
			"A must-gather has a file with those of a namespace.", "events.yaml",
			"apiVersion: v1\nitems:\n- involvedObject: {kind: Pod, name: foo}\n  metadata: {namespace: a, name: foo}\nkind: EventList\n",
		},
		"JSON": {
			"kubectl get -o json indents.", "events.json",
			`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "a", "name": "foo"}}]}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, tc.file, tc.text)
			a, err := Open([]string{folder}, testScheme(t))
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{"a/foo"}, names(t, a, &corev1.EventList{})); diff != "" {
				t.Errorf("%s\nEvents: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestIncomplete verifies that the kinds of skipped objects and files are known, since the absence of their objects proves nothing.
func TestIncomplete(t *testing.T) {
	const (
		deployment   = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: a, name: foo}\n"
		subscription = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {namespace: a, name: foo}\n"
	)
	small := defaultLimits
	small.file, small.nodes = 10<<10, 1000
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Fine":     {"An archive of which everything is read lacks nothing.", deployment, nil},
		"Field":    {"The kind of an object with a field of a wrong type is known.", deployment + "spec: {replicas: many}\n", []string{"Deployment"}},
		"Name":     {"So is that of an object with a wrong name.", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: \"a b\"}\n", []string{"Deployment"}},
		"Document": {"A file that is not YAML may have objects of the kinds that it names.", deployment + "spec: [", []string{"Deployment"}},
		"Several":  {"They may be several.", deployment + "---\n" + subscription + "spec: [", []string{"Deployment", "Subscription"}},
		"Large":    {"So may one that is too large.", deployment + "x: " + strings.Repeat("x", 20<<10), []string{"Deployment"}},
		"Values":   {"So may one with too many values.", deployment + "x:\n" + strings.Repeat("- a\n", 2000), []string{"Deployment"}},
		"Others":   {"A large file of other programs has none.", "kind: Deployment\nx: " + strings.Repeat("x", 20<<10), nil},
	}
	kinds := []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"), corev1.SchemeGroupVersion.WithKind("Event"),
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind),
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "a.yaml", tc.text)
			write(t, folder, "fine.yaml", subscription)
			a, err := open([]string{folder}, testScheme(t), small)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			var got []string
			for _, k := range kinds {
				if a.Incomplete(k) {
					got = append(got, k.Kind)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nincomplete: -want +got\n%s", tc.reason, diff)
			}
			read := len(a.objects[kinds[0]]) > 0
			if err := a.List(t.Context(), &appsv1.DeploymentList{}); errors.Is(err, ErrMissing) != (a.Incomplete(kinds[0]) && !read) {
				t.Errorf("%s\nDeployments: %v", tc.reason, err)
			}
		})
	}
}
