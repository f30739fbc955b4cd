package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

func installCommand(o *options) *cobra.Command {
	var of installation
	var catalog, approval string
	cmd := &cobra.Command{
		Use:   "install PACKAGE",
		Short: "Install an operator from a catalog",
		Long: `Install an operator from a catalog: create a Subscription for the package and, where they do not exist, the namespace and an OperatorGroup.
OLM or, on a cluster without it, the lifecycle manager of operator-status installs the operator and its updates.

An OperatorGroup that exists is not changed. One that is created has the operator watch its own namespace, or all of them with
--watch-all-namespaces. Which of the two an operator supports is among the installModes of its ClusterServiceVersion.`,
		Example: `  # Install cert-manager in a namespace of its own, and wait until it runs
  kubectl operator-status install cert-manager -n cert-manager --watch-all-namespaces
  kubectl operator-status wait cert-manager -n cert-manager --for=ready`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			of.pkg, of.approval = names[0], olm.Approval(approval)
			if of.approval != olm.ApprovalAutomatic && of.approval != olm.ApprovalManual {
				return fmt.Errorf("--approval=%s is not one of %s, %s", approval, olm.ApprovalAutomatic, olm.ApprovalManual)
			}
			w, err := o.writer(cmd)
			if err != nil {
				return err
			}
			if of.namespace, err = o.namespace(); err != nil {
				return err
			}
			if of.catalog, err = w.catalogOf(cmd.Context(), catalog); err != nil {
				return err
			}
			return w.install(cmd.Context(), of)
		},
	}
	cmd.Flags().StringVar(&catalog, "catalog", "", "Namespace and name of the CatalogSource, such as olm/operatorhubio. Required if there are several.")
	cmd.Flags().StringVar(&of.channel, "channel", "", "Channel to follow. By default that is the default channel of the package.")
	cmd.Flags().StringVar(&of.startingCSV, "starting-csv", "", "ClusterServiceVersion to install first. By default that is the newest of the channel.")
	cmd.Flags().StringVar(&approval, "approval", string(olm.ApprovalAutomatic), "Whether updates, and the installation, wait for approve: Automatic or Manual.")
	cmd.Flags().BoolVar(&of.everywhere, "watch-all-namespaces", false, "If an OperatorGroup is created, have its operators watch all namespaces.")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmdutil.AddDryRunFlag(cmd)
	return cmd
}

// installation is an operator to be installed.
type installation struct {
	pkg, channel, startingCSV string
	catalog                   types.NamespacedName
	namespace                 string
	everywhere                bool
	approval                  olm.Approval
}

// catalogOf returns the CatalogSource that a user names as namespace/name, or the only one of the cluster.
func (w writer) catalogOf(ctx context.Context, named string) (types.NamespacedName, error) {
	if named != "" {
		namespace, name, ok := strings.Cut(named, "/")
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if !ok || namespace == "" || name == "" {
			return key, fmt.Errorf("--catalog=%s is not the namespace and name of a CatalogSource, such as olm/operatorhubio", named)
		}
		if err := w.client.Get(ctx, key, &olm.CatalogSource{}); err != nil {
			return key, fmt.Errorf("getting CatalogSource %s: %w", key, err)
		}
		return key, nil
	}
	list := &olm.CatalogSourceList{}
	if err := w.client.List(ctx, list); err != nil {
		return types.NamespacedName{}, fmt.Errorf("listing the CatalogSources: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]).String())
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return types.NamespacedName{}, errors.New("no CatalogSource found, from which an operator could be installed: create one")
	case 1:
		return client.ObjectKeyFromObject(&list.Items[0]), nil
	default:
		return types.NamespacedName{}, fmt.Errorf("there are several CatalogSources: choose one with --catalog, of %s", strings.Join(names, ", "))
	}
}

// install creates the Subscription of an operator and the objects that it needs, unless its package has a Subscription.
func (w writer) install(ctx context.Context, of installation) error {
	subscriptions := &v1alpha1.SubscriptionList{}
	if err := w.client.List(ctx, subscriptions, client.InNamespace(of.namespace)); err != nil {
		return fmt.Errorf("listing the Subscriptions of namespace %s: %w", of.namespace, err)
	}
	for i := range subscriptions.Items {
		if sub := &subscriptions.Items[i]; sub.Spec != nil && sub.Spec.Package == of.pkg {
			return fmt.Errorf("package %s has the Subscription %s/%s already: see %s", of.pkg, sub.Namespace, sub.Name,
				w.here(operator.Command("kubectl operator-status why -n %s %s", sub.Namespace, sub.Name)))
		}
	}
	if err := w.createNamespace(ctx, of.namespace); err != nil {
		return err
	}
	if err := w.createGroup(ctx, of); err != nil {
		return err
	}
	if err := w.create(ctx, "subscription.operators.coreos.com", &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.pkg},
		Spec: &olm.SubscriptionSpec{
			Package: of.pkg, Channel: of.channel, StartingCSV: of.startingCSV, InstallPlanApproval: of.approval,
			CatalogSource: of.catalog.Name, CatalogSourceNamespace: of.catalog.Namespace,
		},
	}); err != nil {
		return err
	}
	if of.approval == olm.ApprovalManual {
		fmt.Fprintln(w.Out, "To approve its installation, once its InstallPlan exists: "+
			w.here(operator.Command("kubectl operator-status approve -n %s %s", of.namespace, of.pkg)))
	}
	fmt.Fprintln(w.Out, "To wait until it runs: "+w.here(operator.Command("kubectl operator-status wait -n %s %s --for=ready", of.namespace, of.pkg)))
	return nil
}

// createNamespace creates a namespace that does not exist. In a dry run nothing can be sent afterwards that needs it.
func (w *writer) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := w.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	switch {
	case err == nil, apierrors.IsForbidden(err): // a user who may not get namespaces may have one
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("getting namespace %s: %w", name, err)
	}
	if err := w.create(ctx, "namespace", namespace); err != nil {
		return err
	}
	if w.dryRun != "" {
		w.client = unsent(w.connected)
	}
	return nil
}

// createGroup creates the OperatorGroup of a namespace that has none.
func (w writer) createGroup(ctx context.Context, of installation) error {
	groups := &operatorsv1.OperatorGroupList{}
	if err := w.client.List(ctx, groups, client.InNamespace(of.namespace)); err != nil {
		return fmt.Errorf("listing the OperatorGroups of namespace %s: %w", of.namespace, err)
	}
	if len(groups.Items) > 0 {
		return nil
	}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.namespace}}
	if !of.everywhere {
		group.Spec.TargetNamespaces = []string{of.namespace}
	}
	return w.create(ctx, "operatorgroup.operators.coreos.com", group)
}

// create creates an object, and prints that.
func (w writer) create(ctx context.Context, resource string, o client.Object) error {
	if err := w.client.Create(ctx, o, fieldOwner); err != nil {
		return fmt.Errorf("creating %s %s: %w", resource, o.GetName(), err)
	}
	w.printf(resource, o.GetName(), "created")
	return nil
}
