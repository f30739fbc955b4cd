package peer

import (
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// uncompared lists the kinds that are not compared, with the reason.
var uncompared = map[string]string{
	"Event":              "a record in the wording of its reporter",
	"Lease":              "a heartbeat",
	"Pod":                "created by a controller of Kubernetes from compared objects",
	"ReplicaSet":         "created by a controller of Kubernetes from compared objects",
	"ControllerRevision": "created by a controller of Kubernetes from compared objects",
	"Endpoints":          "created by a controller of Kubernetes from compared objects",
	"EndpointSlice":      "created by a controller of Kubernetes from compared objects",
	"IPAddress":          "created by the API server for Services",
	"ComponentStatus":    "the health of the control plane",
	"InstallPlan":        "the record of an installation: OLM puts all updates of a namespace into one, under a random name",
	"Operator":           "OLM's list of the objects of an operator, which the built-in loops list in status.relatedObjects",
	"Probe":              "a kind of operator-status only",
}

// identity identifies an object across clusters.
type identity struct {
	kind      schema.GroupKind
	namespace string
	name      string
}

func (i identity) String() string {
	return strings.TrimSuffix(i.kind.Kind+"."+i.kind.Group, ".") + " " + strings.TrimPrefix(i.namespace+"/"+i.name, "/")
}

// state holds all objects of a cluster that are compared.
type state map[identity]*unstructured.Unstructured

// read lists every object of every kind that is compared.
func (c *contender) read(t testing.TB) state {
	t.Helper()
	finder, err := discovery.NewDiscoveryClientForConfig(c.cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := discovery.ServerPreferredResources(finder)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := dynamic.NewForConfig(c.cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	out := state{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if uncompared[resource.Kind] != "" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			all.Go(func() {
				found, err := reader.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Errorf("listing %s of %s: %v", resource.Name, c.name, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for i := range found.Items {
					o := &found.Items[i]
					out[identity{schema.GroupKind{Group: version.Group, Kind: resource.Kind}, o.GetNamespace(), o.GetName()}] = o
				}
			})
		}
	}
	all.Wait()
	return out
}

// since returns the objects that did not exist before.
func (s state) since(before state) state {
	out := state{}
	for i, o := range s {
		if _, there := before[i]; !there {
			out[i] = o
		}
	}
	return out
}

// orphans returns the objects all of whose owners are missing.
func (s state) orphans() []identity {
	there := map[types.UID]bool{}
	for _, o := range s {
		there[o.GetUID()] = true
	}
	var out []identity
	for _, i := range sorted(s) {
		owners := s[i].GetOwnerReferences()
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return there[o.UID] || uncompared[o.Kind] != "" }) {
			out = append(out, i)
		}
	}
	return out
}

// owners maps objects to the packages that they belong to.
type owners struct {
	byNamespace map[string]string
	byObject    map[string]string // objects in bundles, by kind and name
}

func ownersOf(packages []testcatalog.Package) owners {
	out := owners{byNamespace: map[string]string{}, byObject: map[string]string{}}
	for _, p := range packages {
		out.byNamespace[namespaceOf(p)] = p.Name
		for _, b := range p.Bundles {
			for _, o := range b.Objects {
				out.byObject[o.GetKind()+" "+o.GetName()] = p.Name
			}
		}
	}
	return out
}

// packageOf returns the package that an object belongs to, or empty.
func (w owners) packageOf(i identity, o *unstructured.Unstructured) string {
	switch namespace, owners := o.GetLabels()["olm.owner.namespace"], o.GetOwnerReferences(); {
	case namespace != "":
		return w.byNamespace[namespace]
	case i.namespace != "":
		return w.byNamespace[i.namespace]
	case len(owners) > 0:
		return w.byObject["CustomResourceDefinition "+owners[0].Name]
	}
	return w.byObject[i.kind.Kind+" "+i.name]
}
