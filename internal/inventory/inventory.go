// Package inventory describes the operators of all installers as JSON, for the command line and for the plugin for Headlamp, which runs it in
// a browser. It is pure.
package inventory

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/operator"
)

// Installers find operators by the objects of a cluster.
var Installers = installer.Installers{olmv0.Installer{}, controllers.Installer{}}

// Kind is a kind of objects that describe operators.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`

	// Plural is its name in messages, in Cluster.Objects and in Cluster.Unread.
	Plural string `json:"plural"`

	// Selector selects the objects by label. It is empty for all.
	Selector string `json:"selector,omitempty"`

	// ClusterScoped is true if its objects have no namespace. AllNamespaces is true if those of all namespaces describe the operators of one.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	AllNamespaces bool `json:"allNamespaces,omitempty"`

	// Background is true if a user who may not read it needs no warning.
	Background bool `json:"background,omitempty"`

	// Unwatched is true if its events are not worth a new look at the operators.
	Unwatched bool `json:"unwatched,omitempty"`

	// Metadata is true if only the metadata of its objects is used.
	Metadata bool `json:"metadata,omitempty"`

	// Pods is true if it is read to explain workloads that do not run. Only objects of the namespaces in Inventory.Pods are used.
	Pods bool `json:"pods,omitempty"`
}

// Kinds returns the kinds whose objects Describe uses.
func Kinds() []Kind {
	var out []Kind
	for _, k := range kinds() {
		_, metadata := k.List().(*metav1.PartialObjectMetadataList)
		out = append(out, Kind{
			Group: k.Group, Version: k.Version, Kind: k.Kind, Plural: k.Plural, Selector: k.Selector, ClusterScoped: k.ClusterScoped,
			AllNamespaces: k.AllNamespaces, Background: k.Background && !k.DefinesOperators(), Unwatched: k.Unwatched, Metadata: metadata, Pods: isOfPods(k),
		})
	}
	return out
}

func kinds() []installer.Kind {
	return slices.Concat(Installers.Kinds(), Installers.TreeKinds(), installer.PodKinds())
}

func isOfPods(k installer.Kind) bool {
	return slices.ContainsFunc(installer.PodKinds(), func(p installer.Kind) bool { return p.Plural == k.Plural })
}

// Cluster holds the objects of a cluster, as read at one moment.
type Cluster struct {
	// Objects of each kind, by its Plural. A kind that is not installed has none.
	Objects map[string]json.RawMessage `json:"objects"`

	// Unread are the kinds that may not be read, by their Plural. Nothing is concluded from the absence of their objects.
	Unread []string `json:"unread,omitempty"`

	// Namespace is the only one of which objects were read, or empty.
	Namespace string `json:"namespace,omitempty"`

	// Pods are the namespaces of which objects of kinds with Pods were read.
	Pods []string `json:"pods,omitempty"`

	// Trees is true if the trees of operators are asked for.
	Trees bool `json:"trees,omitempty"`
}

// Inventory describes the operators of a cluster.
type Inventory struct {
	// Operators are sorted by namespace and name. Each has the fields of the JSON of `kubectl operator-status get`, and with Trees the field `tree`.
	Operators []map[string]any `json:"operators"`

	// Pods are the namespaces of workloads that do not run. Objects of kinds with Pods explain them.
	Pods []string `json:"pods,omitempty"`
}

// Describe returns the Inventory of a Cluster, both as JSON.
func Describe(cluster []byte, now time.Time) ([]byte, error) {
	var in Cluster
	if err := json.Unmarshal(cluster, &in); err != nil {
		return nil, fmt.Errorf("decoding the cluster: %w", err)
	}
	c, err := in.decode()
	if err != nil {
		return nil, err
	}
	operators := Installers.Operators(c)
	out := Inventory{Operators: []map[string]any{}, Pods: Installers.Unsettled(c, operators)}
	if slices.ContainsFunc(out.Pods, func(namespace string) bool { return !slices.Contains(in.Pods, namespace) }) {
		c.Unread = append(c.Unread, installer.ReplicaSets, installer.Pods)
	}
	operators = Installers.Explain(c, operators, now)
	var tree func(operator.Operator) operator.Node
	if in.Trees {
		tree = Installers.Trees(c)
	}
	for _, op := range operators {
		object := Object(op)
		if tree != nil {
			object["tree"] = sanitize(outline(tree(op)))
		}
		out.Operators = append(out.Operators, object)
	}
	return json.Marshal(out)
}

// decode returns the objects with their Go types.
func (c Cluster) decode() (installer.Cluster, error) {
	out := installer.Cluster{Unread: slices.Clone(c.Unread), Namespace: c.Namespace}
	for _, k := range kinds() {
		objects := c.Objects[k.Plural]
		if len(objects) == 0 {
			continue
		}
		list := k.List()
		if err := json.Unmarshal(slices.Concat([]byte(`{"items":`), objects, []byte("}")), list); err != nil {
			return installer.Cluster{}, fmt.Errorf("decoding %s: %w", k.Plural, err)
		}
		if err := out.Add(list, k.Trim); err != nil {
			return installer.Cluster{}, err
		}
	}
	return out, nil
}
