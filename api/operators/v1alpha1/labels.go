package v1alpha1

// Labels and annotations.
const (
	// LabelLifecycle on the CustomResourceDefinition of Subscriptions says who runs the loops.
	LabelLifecycle = "operatorstatus.io/lifecycle"

	// LifecycleBuiltin is the value of LabelLifecycle where operator-status runs them.
	LifecycleBuiltin = "builtin"

	// AnnotationAllowUpgrade on a Subscription names the ClusterServiceVersion that may be installed although the
	// running operator holds its update.
	AnnotationAllowUpgrade = "operatorstatus.io/allow-upgrade"

	// AnnotationInstallPlan on a ClusterServiceVersion names the InstallPlan that made it.
	AnnotationInstallPlan = "operatorstatus.io/install-plan"

	// AnnotationSubscription on a ClusterServiceVersion names the Subscription that it was installed for.
	AnnotationSubscription = "operatorstatus.io/subscription"

	// AnnotationCatalogSource on a ClusterServiceVersion names its CatalogSource, as <namespace>/<name>.
	AnnotationCatalogSource = "operatorstatus.io/catalog-source"
)
