package cvotest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Payload is the part of a release that belongs to one ClusterOperator.
type Payload struct {
	// Manifest is the ClusterOperator in the release, with the versions to wait for and the related objects.
	Manifest configv1.ClusterOperator

	// Objects are the names of the objects that the Cluster Version Operator applies between creating the
	// ClusterOperator and checking it, in the order of their files.
	Objects []string
}

// ReadPayload reads the manifests of a release from a folder, and sets its version. The ClusterOperator must be in the
// last file, since the Cluster Version Operator applies files in the order of their names.
func ReadPayload(folder, version string) (Payload, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml")) // sorted
	if err != nil {
		return Payload{}, err
	}
	var out Payload
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return out, err
		}
		object := &metav1.PartialObjectMetadata{}
		if err := yaml.Unmarshal(text, object); err != nil {
			return out, fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case out.Manifest.Name != "":
			return out, fmt.Errorf("%s is applied after the ClusterOperator has been checked", file)
		case object.Kind != "ClusterOperator":
			out.Objects = append(out.Objects, object.Name)
		default:
			err = yaml.UnmarshalStrict(bytes.ReplaceAll(text, []byte(unbuilt), []byte(version)), &out.Manifest)
			if err != nil {
				return out, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return out, nil
}

// unbuilt is the placeholder that the build of a release replaces with its version.
const unbuilt = "0.0.1-snapshot"

// Create returns the ClusterOperator as the Cluster Version Operator creates it, before it applies the other objects of
// the component. It has no status, which is written a moment later: see WriteStatus.
func (p Payload) Create() configv1.ClusterOperator {
	out := *p.Manifest.DeepCopy()
	out.Status = configv1.ClusterOperatorStatus{}
	return out
}

// WriteStatus sets the related objects of the ClusterOperator that Create returned, unless another controller has
// written conditions already: the Cluster Version Operator ignores that conflict.
func (p Payload) WriteStatus(co *configv1.ClusterOperator) {
	if len(co.Status.Conditions) == 0 {
		co.Status.RelatedObjects = p.Manifest.DeepCopy().Status.RelatedObjects
	}
}

// Check returns why the Cluster Version Operator keeps waiting for a ClusterOperator, or nil. During the first installation
// it does not compare versions, and Degraded does not block it.
func (p Payload) Check(co *configv1.ClusterOperator, installing bool) error {
	is := func(t configv1.ClusterStatusConditionType, want configv1.ConditionStatus) bool {
		c := find(co.Status, t)
		return c != nil && c.Status == want
	}
	switch {
	case len(p.Manifest.Status.Versions) == 0:
		return fmt.Errorf("cluster operator %s does not declare expected versions", co.Name)
	case !is(configv1.OperatorAvailable, configv1.ConditionTrue):
		return fmt.Errorf("cluster operator %s is not available", co.Name)
	case !is(configv1.OperatorDegraded, configv1.ConditionFalse) && !installing:
		return fmt.Errorf("cluster operator %s is degraded", co.Name)
	}
	var undone []string
	for _, v := range p.Manifest.Status.Versions {
		if !installing && !slices.Contains(co.Status.Versions, v) {
			undone = append(undone, v.Name)
		}
	}
	if len(undone) > 0 {
		return fmt.Errorf("cluster operator %s is updating versions: %s", co.Name, strings.Join(undone, ", "))
	}
	return nil
}

// Completed reports whether the cluster is installed: its ClusterVersion has completed some release.
func Completed(version *configv1.ClusterVersion) bool {
	return slices.ContainsFunc(version.Status.History, func(h configv1.UpdateHistory) bool {
		return h.State == configv1.CompletedUpdate
	})
}
