package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/crds"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func TestOLMObjects(t *testing.T) {
	kinds := map[string]bool{}
	for _, file := range crds.AssetNames() {
		if filepath.Ext(file) == ".yaml" {
			kinds[file] = true
		}
	}
	if len(kinds) != 8 {
		t.Errorf("the CustomResourceDefinitions are %v, want 8", kinds)
	}
	var got []string
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(olmObjects), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Trim(object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName(), "/"))
		if on, _, _ := unstructured.NestedBool(object.Object, "spec", "features", "disableCopiedCSVs"); on != (object.GetKind() == "OLMConfig") {
			t.Errorf("disableCopiedCSVs of %s is %v", object.GetKind(), on)
		}
	}
	want := []string{
		"Namespace /olm", "Namespace /operators", "ServiceAccount olm/olm-operator-serviceaccount",
		"ClusterRole /system:controller:operator-lifecycle-manager", "ClusterRoleBinding /olm-operator-binding-olm",
		"ClusterRole /aggregate-olm-edit", "ClusterRole /aggregate-olm-view",
		"OLMConfig /cluster", "OperatorGroup operators/global-operators", "OperatorGroup olm/olm-operators",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects besides the CustomResourceDefinitions, in order (-want +got):\n%s", diff)
	}
}

func TestStatusChecks(t *testing.T) {
	is := func(kind, status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}, map[string]any{"type": kind, "status": status}}}
	}
	cases := map[string]struct {
		reason string
		check  statusCheck
		status map[string]any
		want   bool
	}{
		"field":            {"A field that is set passes.", field("lastUpdated"), map[string]any{"lastUpdated": "now"}, true},
		"no field":         {"A status without the field does not pass.", field("lastUpdated"), map[string]any{"namespaces": []any{}}, false},
		"no status":        {"A missing status does not pass.", field("lastUpdated"), nil, false},
		"condition":        {"A condition that is True passes.", condition("Established"), is("Established", "True"), true},
		"false condition":  {"A condition that is False does not pass.", condition("Established"), is("Established", "False"), false},
		"no such":          {"Another condition that is True does not pass.", condition("Established"), is("NamesAccepted", "True"), false},
		"no conditions":    {"A status without conditions does not pass.", condition("Established"), nil, false},
		"broken condition": {"A malformed condition does not pass.", condition("Established"), map[string]any{"conditions": []any{"Established"}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.check.done(tc.status); got != tc.want {
				t.Errorf("%s The check of %s is %v, want %v", tc.reason, tc.check.text, got, tc.want)
			}
		})
	}
}

// TestRetryOnLostPort verifies that a start is not retried because of OLM's fixed port.
func TestRetryOnLostPort(t *testing.T) {
	c := &cluster{dir: folder(t.TempDir())}
	for _, comp := range []component{etcd, olm} {
		write(t, c.dir.log(comp.name), "listen tcp :8080: bind: address already in use\n", 0o600)
		err := c.exitError(componentExit{comp: comp, err: errors.New("exit status 1")}, 0)
		if lost := errors.Is(err, errLostPort); lost != (len(comp.ports) > 0) {
			t.Errorf("errLostPort for %s is %v, want %v", comp.name, lost, len(comp.ports) > 0)
		}
	}
}

// TestOLM verifies that a real OLM installs an operator from a served catalog and updates it.
func TestOLM(t *testing.T) {
	needsExtras(t)
	out := &transcript{}
	c := realCluster(t, out)
	ctx := t.Context()
	must(t, c.builder.build(ctx, append(tiers[withOLM].names(), opm), false)) // not part of the time that up takes
	taken := time.Now()
	lap := func(what string) {
		t.Logf("%-40s %6.1f s", what, time.Since(taken).Seconds())
		taken = time.Now()
	}
	if neighbour, err := net.Listen("tcp", ":8080"); err == nil { // an error means that the port is in use already, which serves the test as well
		defer func() { _ = neighbour.Close() }()
	}

	must(t, c.up(ctx, withOLM, 0))
	lap("up")
	source := t.TempDir()
	publish(t, source, "foo.v1.0.0")
	at, err := c.serveCatalog(ctx, "things", source)
	must(t, err)
	lap("catalog served")
	must(t, c.status(ctx))

	_, err = c.apply(ctx, fmt.Appendf(nil, subscribed, at))
	must(t, err)
	c.awaitPhase(t, "foo.v1.0.0", "Succeeded")
	lap("subscribed until foo.v1.0.0 Succeeded")

	publish(t, source, "foo.v1.0.0", "foo.v1.1.0")
	again, err := c.serveCatalog(ctx, "things", source)
	must(t, err)
	if again != at {
		t.Errorf("the address of the catalog changed from %s to %s", at, again)
	}
	lap("catalog served anew")
	c.awaitPhase(t, "foo.v1.1.0", "Succeeded")
	lap("served again until foo.v1.1.0 Succeeded")
	for _, name := range []string{olm.name, olmCatalog.name, "opm-things"} {
		p, _ := c.process(name)
		t.Logf("%-40s %6d MB resident", name, residentMB(t, p))
	}

	must(t, c.down(ctx))
	c.checkNothingLeft(t)
}

const subscribed = `
apiVersion: v1
kind: Namespace
metadata: {name: things}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: things, namespace: things}
spec: {targetNamespaces: [things]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: things, namespace: things}
spec: {sourceType: grpc, address: "%s"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: foo, namespace: things}
spec: {source: things, sourceNamespace: things, name: foo, channel: stable}
`

// needsExtras skips a test that builds binaries that few users need.
func needsExtras(t *testing.T) {
	t.Helper()
	if os.Getenv("DEVCLUSTER_OLM") == "" {
		t.Skip("needs OLM or opm, which take minutes to build for the first time: DEVCLUSTER_OLM=1 runs it")
	}
}

func (c *cluster) awaitPhase(t *testing.T, name, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	phase := ""
	for phase != want {
		csv, err := c.dynamic.Resource(operatorsResource("v1alpha1", "clusterserviceversions")).Namespace("things").Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			phase, _, _ = unstructured.NestedString(csv.Object, "status", "phase")
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			t.Fatalf("the phase of %s is %q (%v), want %s", name, phase, err, want)
		}
	}
}

// publish writes a catalog of one package with these bundles. Each replaces the one before it.
func publish(t *testing.T, folder string, bundles ...string) {
	t.Helper()
	var entries []any
	var replaces string
	blobs := []any{map[string]any{"schema": "olm.package", "name": "foo", "defaultChannel": "stable"}}
	for _, name := range bundles {
		entry := map[string]any{"name": name}
		if replaces != "" {
			entry["replaces"] = replaces
		}
		entries = append(entries, entry)
		version := strings.TrimPrefix(name, "foo.v")
		csv, err := json.Marshal(foo(name, version, replaces))
		must(t, err)
		blobs = append(blobs, map[string]any{
			"schema": "olm.bundle", "package": "foo", "name": name, "image": "",
			"properties": []any{
				map[string]any{"type": "olm.package", "value": map[string]any{"packageName": "foo", "version": version}},
				map[string]any{"type": "olm.bundle.object", "value": map[string]any{"data": base64.StdEncoding.EncodeToString(csv)}},
			},
		})
		replaces = name
	}
	blobs = append(blobs, map[string]any{"schema": "olm.channel", "package": "foo", "name": "stable", "entries": entries})
	var content []byte
	for _, blob := range blobs {
		line, err := json.Marshal(blob)
		must(t, err)
		content = append(append(content, line...), '\n')
	}
	write(t, filepath.Join(folder, "catalog.json"), string(content), 0o644)
}

// foo returns the ClusterServiceVersion of an operator with one Deployment.
func foo(name, version, replaces string) map[string]any {
	labels := map[string]any{"app": "foo"}
	spec := map[string]any{
		"displayName":  "Foo",
		"version":      version,
		"installModes": []any{map[string]any{"type": "OwnNamespace", "supported": true}},
		"install": map[string]any{"strategy": "deployment", "spec": map[string]any{
			"deployments": []any{map[string]any{"name": "foo", "spec": map[string]any{
				"replicas": 1,
				"selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "foo", "image": "example.com/foo:" + version}}},
				},
			}}},
		}},
	}
	if replaces != "" {
		spec["replaces"] = replaces
	}
	return map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}

func residentMB(t *testing.T, p process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	must(t, err)
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kB int
	_, err = fmt.Sscan(after, &kB)
	must(t, err)
	return kB >> 10
}
