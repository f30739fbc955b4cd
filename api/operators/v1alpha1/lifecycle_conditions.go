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
	ReasonAllTemplatesResolved = "AllTemplatesResolved"

	// ReasonUnableToResolve means that a variable has no value, or the result is not a valid image reference. The
	// source in the spec is read instead, if there is one.
	ReasonUnableToResolve = "UnableToResolve"
)

// Reasons of SignatureVerified. Those with status False are also reasons of Healthy on a CatalogSource, and of Resolved
// on an InstallPlan.
const (
	// ReasonSignatureVerified means that the image is signed. The message names the authority that signed it for each
	// ImagePolicy.
	ReasonSignatureVerified = "SignatureVerified"

	// ReasonSignatureMissing means that the registry has no signature of the image. Nothing in the image is read until
	// it has one.
	ReasonSignatureMissing = "SignatureMissing"

	// ReasonSignatureInvalid means that the image is signed, but not by an authority that the ImagePolicy names.
	ReasonSignatureInvalid = "SignatureInvalid"

	// ReasonImagePolicyInvalid means that a key of the ImagePolicy cannot be decoded.
	ReasonImagePolicyInvalid = "ImagePolicyInvalid"
)

// Reasons of Healthy on a CatalogSource.
const (
	// ReasonCatalogRead means that all of the content was read.
	ReasonCatalogRead = "CatalogRead"

	// ReasonPackagesInvalid means that the content was read, but some packages are invalid. The message names them.
	ReasonPackagesInvalid = "PackagesInvalid"

	// ReasonConnecting means that the content is being read for the first time.
	ReasonConnecting = "Connecting"

	// ReasonUnreachable means that the source of the content cannot be read, such as a registry that does not respond.
	// The content that was read last stays in use.
	ReasonUnreachable = "Unreachable"

	// ReasonAddressNotAllowed means that a catalog that is not trusted refers to a loopback or link-local address, or
	// to the API server. The message names the flag that allows it.
	ReasonAddressNotAllowed = "AddressNotAllowed"

	// ReasonPlaintextNotAllowed means that the connection to the registry would not use TLS. The message names the flag
	// that allows it.
	ReasonPlaintextNotAllowed = "PlaintextNotAllowed"

	// ReasonDigestRequired means that an image is referenced by tag, and the manager's --require-digests is set.
	ReasonDigestRequired = "DigestRequired"

	// ReasonImagePullFailed means that the image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonNotACatalog means that the image or ConfigMap contains no file-based catalog.
	ReasonNotACatalog = "NotACatalog"

	// ReasonTooLarge means that the content exceeds the limit, alone or together with that of other catalogs that are
	// not trusted. The message contains the limit.
	ReasonTooLarge = "TooLarge"

	// ReasonConfigMapNotFound means that the ConfigMap does not exist.
	ReasonConfigMapNotFound = "ConfigMapNotFound"

	// ReasonCatalogsTooLarge means that several large catalogs were being read at once, which needs more memory than
	// the limit. The catalog is read again later.
	ReasonCatalogsTooLarge = "CatalogsTooLarge"

	// ReasonTooManyCatalogSources means that the catalog is not trusted with the cluster, and its namespace already has
	// the maximum number of older CatalogSources.
	ReasonTooManyCatalogSources = "TooManyCatalogSources"

	// ReasonCertificateAuthorityInvalid means that the certificate of the registry is not trusted, or that the
	// certificate authority configured for it cannot be read.
	ReasonCertificateAuthorityInvalid = "CertificateAuthorityInvalid"

	// ReasonSpecInvalid means that the spec defines no source, or a source of an unknown type.
	ReasonSpecInvalid = "SpecInvalid"
)

// Condition types of an InstallPlan in addition to OLM's Resolved and Installed.
const (
	// ConditionUpgradeHeld is True if the plan is not approved because a running operator does not allow its update.
	ConditionUpgradeHeld = "UpgradeHeld"
)

// Reasons of Resolved on an InstallPlan, in addition to those of ResolutionFailed on a Subscription.
const (
	// PlanReasonTooLarge means that the plan's manifests do not fit into one object, even compressed.
	PlanReasonTooLarge = "PlanTooLarge"

	// PlanReasonServiceAccountRequired means that a bundle is from a catalog that is not trusted with the cluster, and
	// the OperatorGroup names no service account to install it as. The message explains what to do.
	PlanReasonServiceAccountRequired = "ServiceAccountRequired"
)

// Reasons of Installed on an InstallPlan.
const (
	// PlanReasonComponentFailed means that the API server rejected a step. The message names the step and quotes the
	// error.
	PlanReasonComponentFailed = "InstallComponentFailed"

	// PlanReasonRetrying means that a step failed with an error that may be transient. It is retried.
	PlanReasonRetrying = "Retrying"

	// PlanReasonForbidden means that the identity that applies the plan lacks a permission, or that a quota or an
	// admission policy denies a step. It is retried, since permissions may be granted.
	PlanReasonForbidden = "Forbidden"

	// PlanReasonKindNotServed means that the API server does not serve the kind of an object in a bundle.
	PlanReasonKindNotServed = "KindNotServed"

	// PlanReasonContentGone means that the content of a partly applied plan was lost. The message names the missing
	// steps.
	PlanReasonContentGone = "ContentGone"

	// PlanReasonContentChanged means that the catalog's content under the same name differs from what was shown when
	// the plan was approved.
	PlanReasonContentChanged = "ContentChanged"

	// PlanReasonIdentityChanged means that the OperatorGroup names another service account than when the plan was
	// started.
	PlanReasonIdentityChanged = "IdentityChanged"

	// PlanReasonCRDUpdateUnsafe means that the new CustomResourceDefinition would invalidate existing custom resources,
	// or drop a stored version.
	PlanReasonCRDUpdateUnsafe = "CRDUpdateUnsafe"

	// PlanReasonServiceAccountMissing means that the OperatorGroup's service account, which is to apply the plan, does
	// not exist.
	PlanReasonServiceAccountMissing = "ServiceAccountMissing"
)

// Reasons and actions of Events.
const (
	// EventUpgradeOverridden is emitted if an administrator allows an update that the running operator would hold.
	EventUpgradeOverridden = "UpgradeOverridden"

	// EventProbeBlind is emitted if the custom resources of a Probe could not be read for ten minutes. An update may be
	// waiting for a permission to be granted or a service account to be created.
	EventProbeBlind = "ProbeBlind"

	// EventUndecodable is emitted if an object does not fit the Go type of its kind, although the schema of its
	// CustomResourceDefinition allows it. Until the object is corrected, its last decodable version is used, or none.
	EventUndecodable = "Undecodable"

	// EventNotCleanedUp is emitted if a ClusterServiceVersion with spec.cleanup.enabled was deleted, and some custom
	// resources remain because its operator may not delete them.
	EventNotCleanedUp = "NotCleanedUp"

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

	// EventNotHandedOver is emitted if objects of a kind could not be read when a ClusterServiceVersion handed over
	// what it owns to its replacement.
	EventNotHandedOver = "NotHandedOver"

	// EventActionHandOver is the action of EventNotHandedOver.
	EventActionHandOver = "HandOver"

	// EventActionApprove is the action of EventUpgradeOverridden.
	EventActionApprove = "Approve"
)
