package installplan

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
)

// Bundle is a bundle that a plan installs, with its objects.
type Bundle struct {
	resolve.Choice
	Objects []*unstructured.Unstructured

	// Subscription that it is installed for.
	Subscription string
}

// Scope is what the operators of a namespace look after.
type Scope struct {
	Group   *operatorsv1.OperatorGroup
	Targets []string // as surroundings.Targets has them
}

const (
	kindCRD = "CustomResourceDefinition"

	// maxManifest is how long the manifests of a plan may be in all before they are compressed, in bytes. An object
	// may be 1.5 MiB, and a manifest inside one grows by its quotes.
	maxManifest = 384 << 10

	// maxPlan is how long the manifests of a plan may be in all, compressed, in bytes.
	maxPlan = 1 << 20

	// compressed begins a manifest that is gzipped and in base64.
	compressed = "gzip+base64:"
)

// Steps are those that install the bundles into a namespace, in the order they are applied in. A bundle that updates
// comes with its ClusterServiceVersion first, so that the one it replaces is known to be replaced before anything
// else changes; otherwise with its CustomResourceDefinitions, which it needs.
func Steps(scheme *runtime.Scheme, bundles []Bundle, plan *olm.InstallPlan, in Scope) ([]*olm.Step, *resolve.Problem) {
	var out []*olm.Step
	for _, b := range bundles {
		steps, err := bundleSteps(scheme, b, plan, in)
		if err != nil {
			return nil, &resolve.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: fmt.Sprintf("Bundle %s of CatalogSource %s: %v", b.Bundle.Name, b.Catalog, err)}
		}
		slices.SortStableFunc(steps, func(x, y *olm.Step) int { return cmp.Compare(rank(b, x), rank(b, y)) })
		out = append(out, steps...)
	}
	if err := compress(out); err != nil {
		return nil, &resolve.Problem{Reason: v1alpha1.PlanReasonTooLarge, Message: err.Error()}
	}
	return out, nil
}

func rank(b Bundle, s *olm.Step) int {
	if s.Resource.Kind == v1alpha1.ClusterServiceVersionKind && b.Replaces != "" {
		return 0
	}
	return waveOf(s).rank
}

// wave is what steps have in common that do not depend on each other.
type wave struct {
	resolving string
	rank      int
}

func waveOf(s *olm.Step) wave {
	out := wave{resolving: s.Resolving}
	switch s.Resource.Kind {
	case kindCRD:
		out.rank = 1
	case v1alpha1.ClusterServiceVersionKind:
		out.rank = 2 // owns what follows
	case "RoleBinding", "ClusterRoleBinding":
		out.rank = 4 // nobody may bind a role that is not there, unless he may bind any
	default:
		out.rank = 3
	}
	return out
}

func bundleSteps(scheme *runtime.Scheme, b Bundle, plan *olm.InstallPlan, in Scope) ([]*olm.Step, error) {
	out := make([]*olm.Step, 0, len(b.Objects))
	for _, o := range b.Objects {
		o = o.DeepCopy()
		isCSV := o.GetKind() == v1alpha1.ClusterServiceVersionKind
		if isCSV {
			o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind)) // some authors misspell it
		}
		o, err := normal(scheme, o)
		if err != nil {
			return nil, err
		}
		unstructured.RemoveNestedField(o.Object, "status")
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		if isCSV {
			if err := stamp(o, b, plan, in); err != nil {
				return nil, err
			}
		}
		manifest, err := json.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		gvk := o.GroupVersionKind()
		out = append(out, &olm.Step{
			Resolving: b.Bundle.Name,
			Status:    olm.StepStatusUnknown,
			Resource: olm.StepResource{
				CatalogSource:          b.Catalog.Name,
				CatalogSourceNamespace: b.Catalog.Namespace,
				Group:                  gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
				Name:     o.GetName(),
				Manifest: string(manifest),
			},
		})
	}
	return out, nil
}

// stamp writes into a ClusterServiceVersion what it really replaces, whence it came, and what it looks after. OLM
// rewrites `replaces` too: an update by skipRange would otherwise never be adopted.
func stamp(csv *unstructured.Unstructured, b Bundle, plan *olm.InstallPlan, in Scope) error {
	if b.Replaces == "" {
		unstructured.RemoveNestedField(csv.Object, "spec", "replaces")
	} else if err := unstructured.SetNestedField(csv.Object, b.Replaces, "spec", "replaces"); err != nil {
		return err
	}
	properties, err := json.Marshal(map[string]any{"properties": b.Bundle.Properties})
	if err != nil {
		return err
	}
	annotations := csv.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[surroundings.AnnotationProperties] = string(properties)
	annotations[v1alpha1.AnnotationInstallPlan] = plan.Name
	annotations[v1alpha1.AnnotationSubscription] = b.Subscription
	annotations[v1alpha1.AnnotationCatalogSource] = b.Catalog.String()
	annotations[operatorsv1.OperatorGroupAnnotationKey] = in.Group.Name
	annotations[operatorsv1.OperatorGroupNamespaceAnnotationKey] = in.Group.Namespace
	annotations[operatorsv1.OperatorGroupTargetsAnnotationKey] = install.TargetsAnnotation(in.Targets)
	csv.SetAnnotations(annotations)
	csv.SetNamespace(plan.Namespace)
	return nil
}

// DependencySubscription is what keeps a dependency up to date, under the name that OLM gives it.
func DependencySubscription(choice resolve.Choice, namespace string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind))
	out.SetNamespace(namespace)
	out.SetName(strings.Join([]string{choice.Package, choice.Channel, choice.Catalog.Name, choice.Catalog.Namespace}, "-"))
	out.Object["spec"] = map[string]any{
		"name": choice.Package, "channel": choice.Channel,
		"source": choice.Catalog.Name, "sourceNamespace": choice.Catalog.Namespace,
		"startingCSV":         choice.Bundle.Name,
		"installPlanApproval": string(olm.ApprovalAutomatic),
	}
	return out
}

// compress makes the manifests short enough to be kept in one object.
func compress(steps []*olm.Step) error {
	if length(steps) <= maxManifest {
		return nil
	}
	for _, s := range steps {
		var buffer bytes.Buffer
		zip := gzip.NewWriter(&buffer)
		if _, err := io.WriteString(zip, s.Resource.Manifest); err != nil {
			return err
		}
		if err := zip.Close(); err != nil {
			return err
		}
		s.Resource.Manifest = compressed + base64.StdEncoding.EncodeToString(buffer.Bytes())
	}
	if n := length(steps); n > maxPlan {
		return fmt.Errorf("the plan's %d manifests take %d bytes compressed, and an object may hold %d: subscribe to the packages one by one", len(steps), n, maxPlan)
	}
	return nil
}

func length(steps []*olm.Step) (out int) {
	for _, s := range steps {
		out += len(s.Resource.Manifest)
	}
	return out
}

// Object is what a step applies.
func Object(s *olm.Step) (*unstructured.Unstructured, error) {
	manifest := []byte(s.Resource.Manifest)
	if encoded, ok := strings.CutPrefix(s.Resource.Manifest, compressed); ok {
		zipped, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("the manifest of %s: %w", title(s), err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			return nil, fmt.Errorf("the manifest of %s: %w", title(s), err)
		}
		if manifest, err = io.ReadAll(io.LimitReader(reader, 16*maxPlan)); err != nil {
			return nil, fmt.Errorf("the manifest of %s: %w", title(s), err)
		}
	}
	out := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(manifest, &out.Object); err != nil { // keeps integers whole
		return nil, fmt.Errorf("the manifest of %s: %w", title(s), err)
	}
	return out, nil
}

// title names a step for people.
func title(s *olm.Step) string {
	return fmt.Sprintf("%s %s of %s", s.Resource.Kind, s.Resource.Name, s.Resolving)
}

func kindOf(s *olm.Step) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.Resource.Group, Version: s.Resource.Version, Kind: s.Resource.Kind}
}
