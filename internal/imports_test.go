// Package internal_test checks the dependencies between the project's packages.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/operator-status/operator-status/"

// Packages that read or write the cluster, and those that only the resolver and the readers of catalogs need.
var (
	clients = []string{"sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/controller-runtime/pkg/reconcile", "k8s.io/client-go/kubernetes/typed",
		"k8s.io/client-go/dynamic"}
	registry = []string{"github.com/operator-framework/operator-registry", "github.com/google/go-containerregistry", "github.com/go-air/gini"}
)

// controllers are the packages with the project's reconcilers.
var controllers = []string{"internal/controller", "internal/installer/builtin/csv", "internal/installer/builtin/installplan",
	"internal/installer/builtin/operatorgroup", "internal/installer/builtin/subscription", "internal/installer/olmv0/controller"}

// installers are the packages about one program that installs operators, or about several.
var installers = []string{"internal/installer/argocd", "internal/installer/builtin", "internal/installer/controllers", "internal/installer/flux", "internal/installer/helm",
	"internal/installer/olmv0", "internal/installer/olmv1", "internal/installer/workload"}

// mechanisms are the packages that read, watch or write the cluster for the controllers.
var mechanisms = []string{"internal/annotations", "internal/apply", "internal/informer", "internal/installer/builtin/catalog/reader",
	"internal/installer/builtin/catalog/store", "internal/installer/builtin/install", "internal/installer/builtin/record",
	"internal/installer/builtin/sandbox", "internal/isolation", "internal/kube", "internal/lifecycle", "internal/operand", "internal/operatorgroup",
	"internal/readiness", "internal/tracing/export", "internal/watch", "internal/workloads"}

// TestImports verifies that packages do not depend on those that their row forbids, directly or indirectly. Tests are
// exempt.
func TestImports(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     []string // packages, with everything below them
		except []string
		never  []string
	}{
		"API": {
			reason: "The API imports no internal package, since other projects import it.",
			of:     []string{"api"},
			never:  []string{module + "internal"},
		},
		"Library": {
			reason: "The library imports no internal package, since operators import it.",
			of:     []string{"pkg"},
			never:  []string{module + "internal", module + "api/platform", module + "api/policy", "github.com/operator-framework/operator-registry"},
		},
		"Pure": {
			reason: "Packages that decide or compute a status import no client and no mechanism, since their inputs are read before.",
			of: []string{"internal/csvchain", "internal/drift", "internal/expression", "internal/gate", "internal/installer", "internal/inventory",
				"internal/messages", "internal/observed", "internal/operator", "internal/status", "internal/tracing", "internal/updatewindow"},
			// platformoperator uses the field paths of crossplane-runtime, which depend on a client.
			except: slices.Concat(controllers, mechanisms, []string{"internal/status/platformoperator"}),
			never:  slices.Concat(in(controllers), in(mechanisms), []string{module + "internal/manager"}, clients),
		},
		"Model": {
			reason: "The model of an operator imports no package of a program that installs it.",
			of:     []string{"internal/operator", "internal/installer"},
			except: installers,
			never:  append(in(installers), module+"internal/csvchain", module+"internal/status"),
		},
		"Mechanisms": {
			reason: "Mechanisms import no controller, and no package that computes a status.",
			of:     append(slices.Clone(mechanisms), "internal/installer/builtin/catalog"),
			never: append(in(controllers), module+"internal/manager", module+"internal/status/subscription", module+"internal/status/csv",
				module+"internal/status/installplan", module+"internal/status/operatorgroup", module+"internal/status/probe",
				module+"internal/status/platformoperator", module+"internal/status/clusteroperator"),
		},
		"BesideOLM": {
			reason: "Only the built-in loops import the resolver and the registry.",
			of:     []string{"internal/controller", "internal/gate", "internal/installer/olmv0", "internal/status"},
			except: []string{"internal/status/catalogsource"}, // of a built-in loop, about the content of catalogs
			never:  append([]string{module + "internal/installer/builtin"}, registry...),
		},
		"Controllers": {
			reason: "Controllers do not import each other, since they communicate through the API server.",
			of:     controllers,
			never:  append(in(controllers), module+"internal/manager"),
		},
		"Sandbox": {
			reason: "The sandbox imports no client, since its processes parse untrusted input.",
			of:     []string{"internal/installer/builtin/sandbox"},
			never:  append([]string{"net/http", "k8s.io/client-go"}, clients...),
		},
	}
	packages := list(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, room := range tc.of {
				found := false
				for path, p := range packages {
					if !within(path, module+room) || slices.ContainsFunc(tc.except, func(e string) bool { return within(path, module+e) }) {
						continue
					}
					found = true
					for _, dep := range p.Deps {
						if dep != path && slices.ContainsFunc(tc.never, func(n string) bool { return within(dep, n) }) {
							t.Errorf("%s\n%s", tc.reason, strings.Join(chain(packages, path, dep), "\n  imports "))
						}
					}
				}
				if !found {
					t.Errorf("no package in %s", room)
				}
			}
		})
	}
}

// listed is a package as `go list` describes it.
type listed struct {
	ImportPath    string
	Imports, Deps []string
}

// list returns all packages of the module and everything that they depend on, by import path.
func list(t *testing.T) map[string]listed {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps", module+"api/...", module+"pkg/...", module+"internal/...", module+"cmd/...")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	out := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out[p.ImportPath] = p
	}
}

// in returns the import paths of packages of the module.
func in(rooms []string) []string {
	out := make([]string, 0, len(rooms))
	for _, r := range rooms {
		out = append(out, module+r)
	}
	return out
}

func within(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

// chain returns the shortest chain of imports from one package to another.
func chain(packages map[string]listed, from, to string) []string {
	seen := map[string]bool{from: true}
	for paths := [][]string{{from}}; len(paths) > 0; paths = paths[1:] {
		path := paths[0]
		last := path[len(path)-1]
		if last == to {
			return path
		}
		for _, next := range packages[last].Imports {
			if !seen[next] {
				seen[next] = true
				paths = append(paths, append(slices.Clone(path), next))
			}
		}
	}
	return []string{from, to}
}
