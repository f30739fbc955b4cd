package v1alpha1

// Condition types of a CatalogSource.
const (
	// ConditionHealthy is True if the last attempt to read the catalog's content succeeded.
	ConditionHealthy = "Healthy"

	// ConditionSignatureVerified is True if the image is signed as the matching ImagePolicies require. It is absent if
	// no ImagePolicy matches. On an InstallPlan it is a condition of a bundle, in `status.bundleLookups`.
	ConditionSignatureVerified = "SignatureVerified"

	// ConditionTemplatesHaveResolved is True if the annotation olm.catalogImageTemplate resolves to an image. OLM
	// defines it.
	ConditionTemplatesHaveResolved = "TemplatesHaveResolved"

	// ConditionResolvedImage is True if the annotation olm.catalogImageTemplate resolves to an image. Its message is
	// the image. OLM defines it.
	ConditionResolvedImage = "ResolvedImage"
)

// Reasons of TemplatesHaveResolved and ResolvedImage on a CatalogSource.
const (
	// ReasonAllTemplatesResolved means that each variable has a value, and the result is a valid image reference.
	// Remedy: none, this is the desired state.
	ReasonAllTemplatesResolved = "AllTemplatesResolved"

	// ReasonUnableToResolve means that a variable has no value, or the result is not a valid image reference. The
	// source in the spec, if any, is read instead.
	// Remedy: correct the annotation olm.catalogImageTemplate as the message states, or set spec.image as well.
	ReasonUnableToResolve = "UnableToResolve"
)

// Reasons of SignatureVerified on a CatalogSource. Those with status False are also reasons of Healthy, and of Resolved
// on an InstallPlan.
const (
	// ReasonSignatureVerified means that the image is signed. The message names the authority that signed it for each
	// ImagePolicy.
	// Remedy: none, this is the desired state.
	ReasonSignatureVerified = "SignatureVerified"

	// ReasonSignatureMissing means that the registry has no signature of the image. Nothing in the image is read until
	// it has one.
	// Remedy: have the image signed with `cosign sign --key` by an authority that the message names. It is read again
	// by itself.
	ReasonSignatureMissing = "SignatureMissing"

	// ReasonSignatureInvalid means that the image is signed, but not by an authority that the ImagePolicy names.
	// Remedy: have the image signed by an authority that the message names, or add the public key of its signer to the
	// ImagePolicy if you trust it.
	ReasonSignatureInvalid = "SignatureInvalid"

	// ReasonImagePolicyInvalid means that a key of the ImagePolicy cannot be decoded.
	// Remedy: replace the key in the ImagePolicy with a public key in PEM form, as `cosign generate-key-pair` writes to
	// cosign.pub.
	ReasonImagePolicyInvalid = "ImagePolicyInvalid"
)

// Reasons of Healthy on a CatalogSource.
const (
	// ReasonCatalogRead means that all of the content was read.
	// Remedy: none, this is the desired state.
	ReasonCatalogRead = "CatalogRead"

	// ReasonPackagesInvalid means that the content was read, but some packages are invalid. The message names them.
	// Remedy: none for the other packages. The author of the catalog has to correct those in the message.
	ReasonPackagesInvalid = "PackagesInvalid"

	// ReasonConnecting means that the content is being read for the first time.
	// Remedy: none, it ends with the first attempt.
	ReasonConnecting = "Connecting"

	// ReasonUnreachable means that the source of the content cannot be read, such as a registry that does not respond.
	// The content that was read last stays in use.
	// Remedy: make the registry reachable from the manager: its address, DNS, proxy, and the NetworkPolicy of the
	// manager. It is retried within two minutes.
	ReasonUnreachable = "Unreachable"

	// ReasonAddressNotAllowed means that a catalog that is not trusted refers to a loopback or link-local address, or
	// to the API server. The message names the flag that allows it.
	// Remedy: use another address. A cluster admin can allow this one with the manager's --catalog-allow-cidr, or trust
	// the catalog with --trusted-catalogs.
	ReasonAddressNotAllowed = "AddressNotAllowed"

	// ReasonPlaintextNotAllowed means that the connection to the registry would not use TLS. The message names the flag
	// that allows it.
	// Remedy: serve the registry with TLS, and name its certificate authority in the annotation
	// operatorstatus.io/registry-ca. A cluster admin can allow the host with the manager's --catalog-plaintext.
	ReasonPlaintextNotAllowed = "PlaintextNotAllowed"

	// ReasonDigestRequired means that an image is referenced by tag, and the manager's --require-digests is set.
	// Remedy: refer to the image as NAME@sha256:DIGEST.
	ReasonDigestRequired = "DigestRequired"

	// ReasonImagePullFailed means that the image cannot be pulled.
	// Remedy: correct the name of the image, the pull secret in spec.secrets or the registry, as the message states. It
	// is retried by itself.
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonNotACatalog means that the image or ConfigMap contains no file-based catalog.
	// Remedy: point to a file-based catalog. `opm migrate` turns an sqlite index into one.
	ReasonNotACatalog = "NotACatalog"

	// ReasonTooLarge means that the content exceeds the limit, alone or together with that of other catalogs that are
	// not trusted. The message contains the limit.
	// Remedy: divide the catalog, or leave packages and versions out of it. A limit for catalogs that are not trusted
	// ends with the manager's --trusted-catalogs.
	ReasonTooLarge = "TooLarge"

	// ReasonConfigMapNotFound means that the ConfigMap does not exist.
	// Remedy: create the ConfigMap in the namespace of the CatalogSource, or correct spec.configMap.
	ReasonConfigMapNotFound = "ConfigMapNotFound"

	// ReasonReadPreempted means that reading took long while catalogs of other namespaces were waiting, which have read
	// less. The catalog is read again later.
	// Remedy: none, it is read again by itself. If it recurs, look for registries that respond slowly, or trust the
	// catalog: --trusted-catalogs of the manager.
	ReasonReadPreempted = "ReadPreempted"

	// ReasonCatalogsTooLarge means that several large catalogs were being read at once, which needs more memory than
	// the limit. The catalog is read again later.
	// Remedy: none, it is read again by itself. If it recurs, divide the largest catalogs.
	ReasonCatalogsTooLarge = "CatalogsTooLarge"

	// ReasonTooManyCatalogSources means that the catalog is not trusted with the cluster, and its namespace already has
	// the maximum number of older CatalogSources.
	// Remedy: delete CatalogSources of the namespace that are not needed. A cluster admin can trust this one with the
	// manager's --trusted-catalogs.
	ReasonTooManyCatalogSources = "TooManyCatalogSources"

	// ReasonCertificateAuthorityInvalid means that the certificate of the registry is not trusted, or that the
	// certificate authority configured for it cannot be read.
	// Remedy: put the certificate authority of the registry, in PEM form, into a ConfigMap or Secret of the namespace,
	// and name it in the annotation operatorstatus.io/registry-ca.
	ReasonCertificateAuthorityInvalid = "CertificateAuthorityInvalid"

	// ReasonSpecInvalid means that the spec defines no source, or a source of an unknown type.
	// Remedy: correct the spec as the message states: one of spec.image, spec.address and spec.configMap, with the
	// spec.sourceType that fits.
	ReasonSpecInvalid = "SpecInvalid"
)

// Condition types of an InstallPlan in addition to OLM's Resolved and Installed.
const (
	// ConditionUpgradeHeld is True if the plan is not approved because a running operator does not allow its update.
	ConditionUpgradeHeld = "UpgradeHeld"
)

// ConditionCompatible is a condition of a bundle of an InstallPlan that waits, in `status.bundleLookups`. It is True if all custom resources
// are valid with the CustomResourceDefinitions of the bundle, as of when the plan was made. Its message has the changes of images and rights.
const ConditionCompatible = "Compatible"

// Reasons of Compatible on a bundle of an InstallPlan. If it is False, the reason is CRDUpdateUnsafe.
const (
	// ReasonCustomResourcesValid means that all custom resources are valid with the new CustomResourceDefinitions.
	// Remedy: none, this is the desired state.
	ReasonCustomResourcesValid = "CustomResourcesValid"

	// ReasonNotCompared means that custom resources, or CustomResourceDefinitions, could not be read.
	// Remedy: none to approve the plan, which checks them when it is applied. To know before, let the service account in the message
	// read them, and delete the InstallPlan: its Subscription creates another.
	ReasonNotCompared = "NotCompared"
)

// Reasons of Resolved on an InstallPlan, in addition to those of ResolutionFailed on a Subscription.
const (
	// PlanReasonTooLarge means that the plan's manifests do not fit into one object, even compressed.
	// Remedy: none on the cluster. The bundle, or the bundles that are installed together, have to become smaller;
	// report it to their author.
	PlanReasonTooLarge = "PlanTooLarge"

	// PlanReasonServiceAccountRequired means that a bundle is from a catalog that is not trusted with the cluster, and
	// the OperatorGroup names no service account to install it as. The message explains the remedy.
	// Remedy: name a service account that may install the bundle in spec.serviceAccountName of the OperatorGroup. A
	// cluster admin can trust the catalog with the manager's --trusted-catalogs.
	PlanReasonServiceAccountRequired = "ServiceAccountRequired"
)

// Reasons of Installed on an InstallPlan.
const (
	// PlanReasonComponentFailed means that the API server rejected a step. The message names the step and quotes the
	// error.
	// Remedy: correct the cause of the error in the message, then delete the InstallPlan: its Subscription creates
	// another. An object that is itself invalid needs a corrected bundle.
	PlanReasonComponentFailed = "InstallComponentFailed"

	// PlanReasonRetrying means that a step failed with an error that may be transient. It is retried.
	// Remedy: none, unless it lasts. Then correct the cause of the error in the message.
	PlanReasonRetrying = "Retrying"

	// PlanReasonForbidden means that the identity that applies the plan lacks a permission, or that a quota or an
	// admission policy denies a step. It is retried, since permissions may be granted.
	// Remedy: grant the permission, raise the quota or change the policy that the message names. It is retried by
	// itself.
	PlanReasonForbidden = "Forbidden"

	// PlanReasonKindNotServed means that the API server does not serve the kind of an object in a bundle.
	// Remedy: install the missing API, such as the CustomResourceDefinition of another operator, then delete the
	// InstallPlan: its Subscription creates another. An API that Kubernetes has removed needs a newer bundle.
	PlanReasonKindNotServed = "KindNotServed"

	// PlanReasonContentGone means that the content of a partly applied plan was lost. The message names the missing
	// steps.
	// Remedy: compare the missing steps in the message with the objects on the cluster, then delete the InstallPlan:
	// its Subscription creates another. Keep the Secrets in the manager's namespace.
	PlanReasonContentGone = "ContentGone"

	// PlanReasonContentChanged means that the catalog's content under the same name differs from the approved content.
	// Remedy: none for an InstallPlan of a Subscription: it is deleted, and another one shows the new content for
	// approval. Recreate an InstallPlan that a user created.
	PlanReasonContentChanged = "ContentChanged"

	// PlanReasonIdentityChanged means that the OperatorGroup names another service account than when the plan was
	// started.
	// Remedy: none for an InstallPlan of a Subscription: it is deleted and recreated for the new account. Recreate an
	// InstallPlan that a user created.
	PlanReasonIdentityChanged = "IdentityChanged"

	// PlanReasonCRDUpdateUnsafe means that the new CustomResourceDefinition would invalidate existing custom resources,
	// or drop a stored version.
	// Remedy: change the custom resources in the message to fit the new schema, delete them, or migrate them to another
	// stored version. Then delete the InstallPlan: its Subscription creates another.
	PlanReasonCRDUpdateUnsafe = "CRDUpdateUnsafe"

	// PlanReasonServiceAccountMissing means that the OperatorGroup's service account, which is to apply the plan, does
	// not exist.
	// Remedy: create the service account, or name another in spec.serviceAccountName of the OperatorGroup. It is
	// retried by itself.
	PlanReasonServiceAccountMissing = "ServiceAccountMissing"

	// PlanReasonRequirementsNotMet means that the plan would update an operator to a version that could not run: the
	// cluster is too old, an API or the version of one is missing, or the version does not support the OperatorGroup.
	// Nothing has been changed, and a version that can run is installed instead once one is available.
	// Remedy: meet the requirement in the message. It is retried by itself.
	PlanReasonRequirementsNotMet = "RequirementsNotMet"
)

// Reasons of Events.
const (
	// EventUpgradeOverridden is emitted if an administrator allows an update that the running operator would hold.
	// Remedy: none, an administrator decided it. To have later updates held, remove the override.
	EventUpgradeOverridden = "UpgradeOverridden"

	// EventUpgradeHeldByCustomResources is emitted on an InstallPlan of OLM if custom resources do not allow an update, and their Probe does
	// not report that yet.
	// Remedy: none, the Probe will report it. The message names the custom resources.
	EventUpgradeHeldByCustomResources = "UpgradeHeldByCustomResources"

	// EventUpgradeHeld is emitted on a Subscription when an update begins to be held.
	// Remedy: see the condition UpgradeHeld.
	EventUpgradeHeld = "UpgradeHeld"

	// EventUpgradeReleased is emitted on a Subscription when its update is no longer held.
	// Remedy: none, the update continues.
	EventUpgradeReleased = "UpgradeReleased"

	// EventUpgradeHoldRestored is emitted on a Subscription if the UpgradeHold that operator-status created for it was deleted
	// while the operator must not be updated.
	// Remedy: to update the operator anyway, use the override in the message of the UpgradeHold.
	EventUpgradeHoldRestored = "UpgradeHoldRestored"

	// EventAnnotationsDiffer is emitted on a Probe if the CustomResourceDefinitions of its operator get other annotations
	// than the operator was installed with.
	// Remedy: see the condition AnnotationsDiffer of the Probe.
	EventAnnotationsDiffer = "AnnotationsDiffer"

	// EventProbeYielded is emitted on a Probe if an update is allowed although custom resources hold it, since they have done so for
	// spec.yieldAfter.
	// Remedy: see the condition Upgradeable of the Probe.
	EventProbeYielded = "ProbeYielded"

	// EventProbeBlind is emitted if the custom resources of a Probe could not be read for ten minutes. An update may be
	// waiting for a permission to be granted or a service account to be created.
	// Remedy: grant the permission or create the service account that the message names.
	EventProbeBlind = "ProbeBlind"

	// EventUndecodable is emitted if an object does not fit the Go type of its kind, although the schema of its
	// CustomResourceDefinition allows it. Until the object is corrected, its last decodable version is used, or none.
	// Remedy: correct the object as the message states.
	EventUndecodable = "Undecodable"

	// EventNotCleanedUp is emitted if a ClusterServiceVersion with spec.cleanup.enabled was deleted, and some custom
	// resources remain because its operator may not delete them, or because they cannot be read. In the second case the
	// operator stays, and it is tried again.
	// Remedy: delete the custom resources yourself, unless the message reports that they cannot be read. If they no longer
	// have an operator, finalizers may have to be removed.
	EventNotCleanedUp = "NotCleanedUp"

	// EventNotHandedOver is emitted if objects of a kind could not be read or changed when a replaced
	// ClusterServiceVersion handed over its objects to its replacement. The replaced one stays, without its
	// Deployments, and it is tried again.
	// Remedy: make the API server serve the kind that the message names, for example by repairing its conversion
	// webhook.
	EventNotHandedOver = "NotHandedOver"
)

// Actions of Events.
const (
	// EventActionCleanUp is the action of EventNotCleanedUp.
	EventActionCleanUp = "CleanUp"

	// EventActionChangePhase is the action of Events about a change of a ClusterServiceVersion's phase or of the reason
	// for it. That reason is also the reason of the Event.
	EventActionChangePhase = "ChangePhase"

	// EventActionRead is the action of Events about something that cannot be read.
	EventActionRead = "Read"

	// EventActionRemake is the action of Events about an InstallPlan that must not proceed: it is deleted, and its
	// Subscription creates another.
	EventActionRemake = "Remake"

	// EventActionHandOver is the action of EventNotHandedOver.
	EventActionHandOver = "HandOver"

	// EventActionHold is the action of EventUpgradeHeld and EventUpgradeHoldRestored.
	EventActionHold = "Hold"

	// EventActionRelease is the action of EventUpgradeReleased.
	EventActionRelease = "Release"

	// EventActionApprove is the action of EventUpgradeOverridden and EventUpgradeHeldByCustomResources.
	EventActionApprove = "Approve"
)
