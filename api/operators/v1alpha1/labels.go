package v1alpha1

// Labels and annotations that users set.
const (
	// LabelGate on a Subscription selects how its updates are held beside a real OLM.
	LabelGate = "operatorstatus.io/gate"

	// GateApproval is the value of LabelGate if operator-status approves the InstallPlans of a Subscription with manual
	// approval, as soon as the running operator allows the update.
	GateApproval = "approval"

	// AnnotationAllowUpgrade on a Subscription names the ClusterServiceVersion that may be installed even though the
	// running operator holds its update. On a ClusterExtension, and on a workload of a Helm release, it is the number of a
	// revision, and on any other workload these are images. On an UpgradeHold of a user or an UpgradeHoldPolicy it is the one that this does
	// not hold.
	AnnotationAllowUpgrade = "operatorstatus.io/allow-upgrade"

	// AnnotationVersion on a Subscription is the range of versions that it may be updated to, in the syntax of
	// `spec.source.catalog.version` of a ClusterExtension. The built-in loops install the newest version in it. Beside OLM, the
	// approval gate holds the update to any other version.
	AnnotationVersion = "operatorstatus.io/version"

	// AnnotationResolveAnew on a Subscription has any value. OLM resolves a Subscription again when it changes.
	AnnotationResolveAnew = "operatorstatus.io/resolve-anew"

	// AnnotationRegistryCA on a CatalogSource names the certificate authority of its registries, in addition to the
	// system's: configmap/<name> or secret/<name> in its namespace, followed by #<key> unless the key is ca.crt. With
	// this value, or with the value system, the connection to spec.address uses TLS.
	AnnotationRegistryCA = "operatorstatus.io/registry-ca"
)

// Labels and annotations that operator-status sets.
const (
	// LabelLifecycle on the CustomResourceDefinition of Subscriptions marks which implementation runs the loops of
	// Subscriptions, InstallPlans and ClusterServiceVersions.
	LabelLifecycle = "operatorstatus.io/lifecycle"

	// LifecycleBuiltin is the value of LabelLifecycle for the built-in loops of operator-status.
	LifecycleBuiltin = "builtin"

	// AnnotationInstallPlan on a ClusterServiceVersion names the InstallPlan that created it.
	AnnotationInstallPlan = "operatorstatus.io/install-plan"

	// AnnotationSolution on an InstallPlan is a digest of its bundles, of the versions that they replace, and of its
	// Subscription and approval.
	AnnotationSolution = "operatorstatus.io/solution"

	// AnnotationAnnotatedCRDs on the Probe of an operator without ClusterServiceVersion names the CRDs, separated by commas, whose
	// annotations some of its resources are from. The other resources are those of ProbePolicies.
	AnnotationAnnotatedCRDs = "operatorstatus.io/annotated-crds"

	// AnnotationSubscription on a ClusterServiceVersion names the Subscription that it was installed for.
	AnnotationSubscription = "operatorstatus.io/subscription"

	// AnnotationCatalogSource on a ClusterServiceVersion names its CatalogSource, as <namespace>/<name>.
	AnnotationCatalogSource = "operatorstatus.io/catalog-source"
)
