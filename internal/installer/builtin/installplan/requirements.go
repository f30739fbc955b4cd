package installplan

import (
	"context"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operand"
)

// unmetError means that a new version could not run on the cluster, or in its OperatorGroup, as they are.
type unmetError struct{ message string }

func (e *unmetError) Error() string { return e.message }

// maxUnmet limits how many requirements a message names.
const maxUnmet = 5

// requirements returns an *unmetError if the plan updates an operator to a version that could not run, judging by the
// bundles alone. Once written, the new version would wait forever, and no other could replace the running one. A
// first installation is written, and its CSV reports the unmet requirements.
func (r *run) requirements(ctx context.Context) error {
	if !slices.ContainsFunc(r.content.Bundles, func(b record.Bundle) bool { return b.Replaces != "" }) {
		return nil
	}
	var unmet []string
	for i := range r.content.Bundles {
		missing, err := r.missing(ctx, &r.content.Bundles[i])
		if err != nil {
			return err
		}
		unmet = append(unmet, missing...)
	}
	if len(unmet) == 0 {
		return nil
	}
	return &unmetError{"The new version cannot run on this cluster, so nothing is changed: " + messages.List(unmet, maxUnmet, "; ")}
}

// missing returns the requirements of a bundle that neither the cluster nor the plan meets.
func (r *run) missing(ctx context.Context, b *record.Bundle) (out []string, err error) {
	csv, err := csvOf(b, r.plan.Name, r.scope)
	if err != nil {
		return nil, nil // the dry run reports it
	}
	spec := &csv.typed.Spec
	add := func(format string, args ...any) {
		out = append(out, b.Name+": "+fmt.Sprintf(format, args...))
	}
	if spec.MinKubeVersion != "" {
		cluster, err := r.Kubernetes.ServerVersion()
		if err != nil {
			return nil, fmt.Errorf("getting the version of the API server: %w", err)
		}
		if err := install.SupportsKubernetes(csv.typed, cluster.GitVersion); err != nil {
			add("%v", err)
		}
	}
	if err := install.SupportsGroup(csv.typed, r.scope.Group, r.scope.Targets); err != nil {
		add("%v", err)
	}
	for _, d := range csv.typed.GetAllCRDs() {
		why, err := r.unserved(ctx, d)
		if err != nil {
			return nil, err
		}
		if why != "" {
			add("CustomResourceDefinition %s %s", d.Name, why)
		}
	}
	kinds := slices.Clone(spec.NativeAPIs)
	for _, d := range spec.APIServiceDefinitions.Required {
		kinds = append(kinds, metav1.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind})
	}
	for _, kind := range kinds {
		gvk := schema.GroupVersionKind(kind)
		if _, definedByPlan := r.definitions.Namespaced(gvk.GroupKind()); definedByPlan {
			continue
		}
		if _, err := r.as.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			add("kind %s is not served", gvk)
		} else if err != nil {
			return nil, fmt.Errorf("checking whether the API server serves %s: %w", gvk, err)
		}
	}
	return out, nil
}

// unserved returns why neither the plan nor the cluster serves a version of a kind, or empty.
func (r *run) unserved(ctx context.Context, d olm.CRDDescription) (string, error) {
	crd := r.definitions.Named(d.Name)
	if crd == nil {
		crd = &apiextensions.CustomResourceDefinition{}
		err := r.Client.Get(ctx, types.NamespacedName{Name: d.Name}, crd)
		if apierrors.IsNotFound(err) {
			return "not found", nil
		}
		if err != nil {
			return "", fmt.Errorf("getting CustomResourceDefinition %s: %w", d.Name, err)
		}
	}
	if d.Version != "" && !operand.Serves(crd, d.Version) {
		return "does not serve version " + d.Version, nil
	}
	return "", nil
}
