package csv

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// What is read here decides nothing: decide.go does.

// readGroup reads the OperatorGroup of the namespace and its target namespaces.
func (r *Reconciler) readGroup(ctx context.Context, s *situation) (err error) {
	if s.group, s.groupProblem, err = operatorgroup.Find(ctx, r.Client, s.csv.Namespace); err != nil || s.groupProblem != nil {
		return err
	}
	if s.targets, err = operatorgroup.Targets(ctx, r.Client, s.group); err != nil {
		return err
	}
	s.absent, err = r.absent(ctx, s.targets)
	return err
}

// absent returns those of some namespaces that do not exist or are being deleted. Nothing can be created in them.
func (r *Reconciler) absent(ctx context.Context, names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		if name == metav1.NamespaceAll {
			continue
		}
		found := namespace()
		err := r.Client.Get(ctx, types.NamespacedName{Name: name}, found, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting namespace %s: %w", name, err)
		}
		if err != nil || !found.DeletionTimestamp.IsZero() {
			out = append(out, name)
		}
	}
	return out, nil
}

// readGrant reads the record of the operator, or, if an InstallPlan is still to grant it something, the InstallPlan.
func (r *Reconciler) readGrant(ctx context.Context, s *situation) (err error) {
	if s.record, err = r.Records.Grant(ctx, client.ObjectKeyFromObject(s.csv)); err != nil || !s.awaitsPlan() {
		return err
	}
	plan := &olm.InstallPlan{}
	key := types.NamespacedName{Namespace: s.csv.Namespace, Name: s.csv.Annotations[v1alpha1.AnnotationInstallPlan]}
	if err := r.Client.Get(ctx, key, plan); client.IgnoreNotFound(err) != nil {
		return err
	} else if err == nil {
		s.plan = plan
	}
	return nil
}

// rival is a CSV of another namespace that takes precedence, owns one of the same kinds, and targets one of the same namespaces.
type rival struct {
	csv    *v1alpha1.ClusterServiceVersion
	crd    string
	group  *operatorsv1.OperatorGroup
	static []*operatorsv1.OperatorGroup // static ones of other namespaces that overlap with its targets
}

// readRivals reads the static OperatorGroups that overlap with the targets of a CSV, and the CSVs of other namespaces that own
// one of its kinds and target one of the same namespaces. An operator without an OperatorGroup watches no namespace.
func (r *Reconciler) readRivals(ctx context.Context, s *situation) (err error) {
	if s.static, err = r.staticGroups(ctx, s.csv, s.targets); err != nil {
		return err
	}
	for _, owned := range s.csv.Spec.CustomResourceDefinitions.Owned {
		list, err := r.indexed(ctx, IndexCRD, owned.Name)
		if err != nil {
			return err
		}
		for _, other := range list {
			if other.Namespace == s.csv.Namespace || !csvchain.Owns(other, owned.Name) || !precedes(other, s.csv) {
				continue
			}
			if err := r.readRival(ctx, s, rival{csv: other, crd: owned.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRival adds a rival if it targets one of the same namespaces. Only then are its static OperatorGroups read: many operators may
// own a kind, each in namespaces of its own.
func (r *Reconciler) readRival(ctx context.Context, s *situation, other rival) error {
	group, problem, err := operatorgroup.Find(ctx, r.Client, other.csv.Namespace)
	if err != nil || problem != nil {
		return err
	}
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil || !operatorgroup.Overlap(s.targets, targets) {
		return err
	}
	other.group = group
	if other.static, err = r.staticGroups(ctx, other.csv, targets); err != nil {
		return err
	}
	s.rivals = append(s.rivals, other)
	return nil
}

// staticGroups returns the OperatorGroups with spec.staticProvidedAPIs in other namespaces that overlap with the
// targets of a CSV, sorted. Younger groups are ignored: a tenant who creates one cannot stop existing operators.
func (r *Reconciler) staticGroups(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, targets []string) ([]*operatorsv1.OperatorGroup, error) {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{IndexStatic: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the OperatorGroups with spec.staticProvidedAPIs: %w", err)
	}
	var out []*operatorsv1.OperatorGroup
	for i := range list.Items {
		group := &list.Items[i]
		if group.Namespace == csv.Namespace || csv.CreationTimestamp.Before(&group.CreationTimestamp) {
			continue
		}
		others, err := operatorgroup.Targets(ctx, r.Client, group)
		if err != nil {
			return nil, err
		}
		if operatorgroup.Overlap(targets, others) {
			out = append(out, group)
		}
	}
	slices.SortFunc(out, func(a, b *operatorsv1.OperatorGroup) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return out, nil
}

// readKubernetes reads the version of Kubernetes, if the operator requires one.
func (r *Reconciler) readKubernetes(_ context.Context, s *situation) error {
	if s.csv.Spec.MinKubeVersion == "" {
		return nil
	}
	cluster, err := r.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("getting the version of the API server: %w", err)
	}
	s.kubernetes, s.retry = cluster.GitVersion, r.backOff(s)
	return nil
}

// readRequirements reads whether the kinds that the operator owns and needs are on the cluster. The statuses have OLM's messages,
// and explained has more detailed ones.
func (r *Reconciler) readRequirements(ctx context.Context, s *situation) error {
	s.requirements, s.explained, s.retry = nil, nil, r.backOff(s)
	add := func(status olm.RequirementStatus, explanation string) {
		s.requirements = append(s.requirements, status)
		status.Message = cmp.Or(explanation, status.Message)
		s.explained = append(s.explained, status)
	}
	for _, d := range s.csv.GetAllCRDs() {
		status, explanation, err := r.crdStatus(ctx, d)
		if err != nil {
			return err
		}
		add(status, explanation)
	}
	for _, d := range s.csv.Spec.APIServiceDefinitions.Required {
		add(r.kindStatus("APIService", d.Version+"."+d.Group, schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}), "")
	}
	for _, kind := range s.csv.Spec.NativeAPIs {
		add(r.kindStatus(kind.Kind, kind.Kind, schema.GroupVersionKind(kind)), "")
	}
	return nil
}

// crdStatus returns whether a CustomResourceDefinition is established and serves the version, with OLM's messages,
// which scripts compare. The explanation is empty if the message suffices.
func (r *Reconciler) crdStatus(ctx context.Context, d olm.CRDDescription) (out olm.RequirementStatus, explanation string, err error) {
	out = olm.RequirementStatus{
		Group: apiextensions.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: d.Name,
		Status: olm.RequirementStatusReasonNotPresent, Message: "CRD is not present",
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := r.Client.Get(ctx, types.NamespacedName{Name: d.Name}, crd); client.IgnoreNotFound(err) != nil {
		return out, "", fmt.Errorf("getting CustomResourceDefinition %s: %w", d.Name, err)
	} else if err != nil {
		return out, "not found", nil
	}
	i := slices.IndexFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established
	})
	const notAvailable = "CRD is present but the Established condition is False (not available)"
	switch {
	case d.Version != "" && !operand.Serves(crd, d.Version):
		out.Message, explanation = "CRD version not served", fmt.Sprintf("it does not serve version %s", d.Version)
	case i < 0:
		out.Status, out.Message, explanation = olm.RequirementStatusReasonNotAvailable, notAvailable, "not established"
	case crd.Status.Conditions[i].Status != apiextensions.ConditionTrue:
		out.Status, out.Message = olm.RequirementStatusReasonNotAvailable, notAvailable
		explanation = "not established: " + crd.Status.Conditions[i].Message
	default:
		out.Status, out.Message, out.UUID = olm.RequirementStatusReasonPresent, "CRD is present and Established condition is true", string(crd.UID)
	}
	return out, explanation, nil
}

// kindStatus returns whether a kind is served.
func (r *Reconciler) kindStatus(kind, name string, gvk schema.GroupVersionKind) olm.RequirementStatus {
	out := olm.RequirementStatus{Group: gvk.Group, Version: gvk.Version, Kind: kind, Name: name, Status: olm.RequirementStatusReasonPresent}
	_, err := r.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		out.Status, out.Message = olm.RequirementStatusReasonNotPresent, fmt.Sprintf("kind %s is not served", gvk)
	case err != nil:
		out.Status, out.Message = olm.RequirementStatusReasonNotAvailable, "the API server does not report whether it is served"
	}
	return out
}
