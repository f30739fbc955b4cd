package probe

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// podPlan is the plan of a Probe with isolation Pod, with the facts that only the manager has permission to read.
type podPlan struct {
	Probe       types.NamespacedName `json:"probe"`
	Generation  int64                `json:"generation"`
	Targets     string               `json:"targets"`
	Version     string               `json:"version,omitempty"`
	HideForeign bool                 `json:"hideForeign,omitempty"`
	Problems    []condition.Problem  `json:"problems,omitempty"`
	Resources   []podResource        `json:"resources"`
}

// podResource is one of the Probe's resources.
type podResource struct {
	v1alpha1.ProbeResource `json:",inline"`

	CRD      string                      `json:"crd"`
	Kind     string                      `json:"kind,omitempty"`
	Absent   bool                        `json:"absent,omitempty"`
	Invalid  bool                        `json:"invalid,omitempty"`
	Problems []condition.Problem         `json:"problems,omitempty"`
	Resource schema.GroupVersionResource `json:"gvr,omitzero"`

	// Namespaces to read, or "" for all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// podPlanOf returns the plan for the pod of a Probe.
func podPlanOf(in probestatus.Inputs, p plan) podPlan {
	out := podPlan{
		Probe:       types.NamespacedName{Namespace: in.Probe.Namespace, Name: in.Probe.Name},
		Generation:  in.Probe.Generation,
		Targets:     in.Targets,
		Version:     in.Version,
		HideForeign: in.HideForeign,
		Problems:    in.Problems,
	}
	for i, resource := range p {
		r := podResource{
			ProbeResource: in.Probe.Spec.ProbeResources[i],
			CRD:           resource.CRD, Kind: resource.Kind, Absent: resource.Absent, Invalid: resource.Invalid, Problems: resource.Problems,
		}
		for _, reading := range resource.readings {
			r.Resource = reading.target.Resource
			r.Namespaces = append(r.Namespaces, reading.target.Namespace)
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// String encodes the plan as an argument of a container, in which Kubernetes would expand dollar signs.
func (p podPlan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it has only strings and numbers
	}
	return strings.ReplaceAll(string(text), "$", `\u0024`)
}

// parsePodPlan decodes a plan.
func parsePodPlan(text string) (podPlan, error) {
	var out podPlan
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("reading the plan of the Probe: %w", err)
	}
	return out, nil
}

// plan returns how the pod reads the resources: as itself.
func (p podPlan) plan() plan {
	var out plan
	for _, r := range p.Resources {
		next := planned{Resource: probestatus.Resource{CRD: r.CRD, Kind: r.Kind, Absent: r.Absent, Problems: r.Problems}}
		next.Expressions, _ = probestatus.Parse(r.ProbeResource) // the manager reports parse errors
		next.Invalid = next.Invalid || r.Invalid
		for _, namespace := range r.Namespaces {
			next.readings = append(next.readings, reading{watch.Target{Resource: r.Resource, Namespace: namespace}, r.Upgradeable, r.Important, r.Invalid})
		}
		out = append(out, next)
	}
	return out
}
