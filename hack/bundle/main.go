// Command bundle completes the ClusterServiceVersion that `operator-sdk generate bundle` writes: the time at which its version was
// made instead of the current one, and the images that it refers to.
//
//	bundle <base> <ClusterServiceVersion>
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

const createdAt = "createdAt"

func main() {
	const arguments = 2
	if len(os.Args) != arguments+1 {
		fmt.Fprintln(os.Stderr, "usage: bundle <base> <ClusterServiceVersion>")
		os.Exit(arguments)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(base, path string) error {
	from, err := os.ReadFile(base)
	if err != nil {
		return fmt.Errorf("reading the base: %w", err)
	}
	to, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the ClusterServiceVersion: %w", err)
	}
	out, err := complete(from, to)
	if err != nil {
		return err
	}
	return os.WriteFile(path, out, 0o644)
}

// complete returns the manifest of a ClusterServiceVersion with the time of its base, and with related images.
func complete(base, csv []byte) ([]byte, error) {
	var from, typed v1alpha1.ClusterServiceVersion
	var to map[string]any // keeps fields that the types lack
	if err := errors.Join(yaml.Unmarshal(base, &from), yaml.Unmarshal(csv, &typed), yaml.Unmarshal(csv, &to)); err != nil {
		return nil, fmt.Errorf("parsing the ClusterServiceVersion: %w", err)
	}
	annotations, ok := to["metadata"].(map[string]any)["annotations"].(map[string]any)
	if !ok || from.Annotations[createdAt] == "" {
		return nil, fmt.Errorf("the base has no annotation %s: set it to the day of the version", createdAt)
	}
	annotations[createdAt] = from.Annotations[createdAt]
	images := []any{}
	for _, name := range related(&typed) {
		images = append(images, map[string]any{"name": name[0], "image": name[1]})
	}
	to["spec"].(map[string]any)["relatedImages"] = images
	return yaml.Marshal(to)
}

// related returns names and references of all images in the Deployments, sorted.
func related(csv *v1alpha1.ClusterServiceVersion) (out [][2]string) {
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, c := range slices.Concat(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers) {
			out = append(out, [2]string{c.Name, c.Image})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	return slices.Compact(out)
}
