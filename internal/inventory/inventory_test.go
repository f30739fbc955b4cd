package inventory

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The plugin for Headlamp has the kinds to read, and shows the operators of a cluster in its stories and tests.
const (
	plugin  = "../../ui/headlamp/src"
	cluster = plugin + "/components/cluster.json"
)

// now is when the objects of the cluster were read.
var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestKinds(t *testing.T) {
	checkFile(t, filepath.Join(plugin, "inventory", "kinds.json"), Kinds())
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Plural] {
			t.Errorf("two kinds have the plural %s", k.Plural)
		}
		seen[k.Plural] = true
	}
}

// TestDescribe compares with a file that the plugin reads.
func TestDescribe(t *testing.T) {
	out, err := Describe(read(t, cluster), now)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatal(err)
	}
	checkFile(t, filepath.Join(plugin, "components", "operators.json"), value)
}

func TestPartsOfACluster(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Cluster)
		want   string // of operator mail
		pods   string
	}{
		"Whole": {
			reason: "The pod tells why.",
			change: func(*Cluster) {},
			want:   "Installing Broken Pod mail/mail-operator-1-a", pods: "mail",
		},
		"PodsNotRead": {
			reason: "Nobody knows yet why the Deployment is not available, and the caller learns where to read.",
			change: func(c *Cluster) { c.Pods, c.Objects["Pods"], c.Objects["ReplicaSets"] = nil, nil, nil },
			want:   "Installing  unread ReplicaSets,Pods", pods: "mail",
		},
		"Unread": {
			reason: "Whether it serves a CustomResourceDefinition cannot be told.",
			change: func(c *Cluster) { c.Objects["ClusterRoles"], c.Unread = nil, []string{"ClusterRoles"} },
		},
		"OtherNamespace": {
			reason: "It is read with the objects of its own.",
			change: func(c *Cluster) { c.Namespace, c.Objects["Deployments"] = "default", nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c Cluster
			if err := json.Unmarshal(read(t, cluster), &c); err != nil {
				t.Fatal(err)
			}
			tc.change(&c)
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Describe(text, now)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Operators []struct {
					Metadata struct{ Name string }
					State    string
					Blockers []struct{ Impact, By string }
					Unread   []string
				}
				Pods []string
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			mail := ""
			for _, o := range got.Operators {
				if o.Metadata.Name != "mail" {
					continue
				}
				if mail = o.State + " "; len(o.Blockers) > 0 {
					mail += o.Blockers[0].Impact + " " + o.Blockers[0].By
				}
				if len(o.Unread) > 0 {
					mail += " unread " + strings.Join(o.Unread, ",")
				}
			}
			if pods := strings.Join(got.Pods, ","); mail != tc.want || pods != tc.pods {
				t.Errorf("%s\ngot  %q, pods of %q\nwant %q, pods of %q", tc.reason, mail, pods, tc.want, tc.pods)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, want string }{
		"NoObject": {"The caller sent no cluster.", `[]`, "decoding the cluster: "},
		"NoList":   {"The objects of a kind are a list.", `{"objects":{"Pods":{}}}`, "decoding Pods: "},
		"Field":    {"An API server without a schema stores such an object.", `{"objects":{"Subscriptions":[{"spec":1}]}}`, "decoding Subscriptions: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Describe([]byte(tc.in), now); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s\ngot  %v\nwant %s...", tc.reason, err, tc.want)
			}
		})
	}
}

// checkFile compares a value with the JSON in a file. UPDATE_GOLDEN=1 writes the file.
func checkFile(t *testing.T, path string, value any) {
	t.Helper()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), string(read(t, path))); diff != "" {
		t.Errorf("%s differs. UPDATE_GOLDEN=1 writes it. -want +got\n%s", path, diff)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
