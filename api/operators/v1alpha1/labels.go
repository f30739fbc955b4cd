package v1alpha1

// Labels and annotations.
const (
	// LabelLifecycle on the CustomResourceDefinition of Subscriptions says who runs the loops.
	LabelLifecycle = "operatorstatus.io/lifecycle"

	// LifecycleBuiltin is the value of LabelLifecycle where operator-status runs them.
	LifecycleBuiltin = "builtin"

	// LabelGate on a Subscription says how its updates are held beside a real OLM.
	LabelGate = "operatorstatus.io/gate"

	// GateApproval is the value of LabelGate where operator-status approves the InstallPlans of a Subscription, whose
	// approval is Manual, once the running operator allows it.
	GateApproval = "approval"

	// AnnotationAllowUpgrade on a Subscription names the ClusterServiceVersion that may be installed although the
	// running operator holds its update.
	AnnotationAllowUpgrade = "operatorstatus.io/allow-upgrade"

	// AnnotationRegistryCA on a CatalogSource names the certificate authority of its registries, besides those of the system: configmap/<name>
	// or secret/<name> in its namespace, followed by #<key> unless that is ca.crt. With it, or with the value system, spec.address is
	// connected to with TLS.
	AnnotationRegistryCA = "operatorstatus.io/registry-ca"

	// AnnotationInstallPlan on a ClusterServiceVersion names the InstallPlan that made it.
	AnnotationInstallPlan = "operatorstatus.io/install-plan"

	// AnnotationSolution on an InstallPlan is a digest of what it installs, in whose place, and for which Subscription.
	AnnotationSolution = "operatorstatus.io/solution"

	// AnnotationSubscription on a ClusterServiceVersion names the Subscription that it was installed for.
	AnnotationSubscription = "operatorstatus.io/subscription"

	// AnnotationCatalogSource on a ClusterServiceVersion names its CatalogSource, as <namespace>/<name>.
	AnnotationCatalogSource = "operatorstatus.io/catalog-source"
)
