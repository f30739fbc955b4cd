package v1alpha1

// Condition types of a CatalogSource.
const (
	// ConditionHealthy is True where the catalog's content was read when it was last looked at.
	ConditionHealthy = "Healthy"

	// ConditionSignatureVerified is True if the image is signed as the ImagePolicies demand that match it. It is absent if none does. On an
	// InstallPlan it is a condition of a bundle, in `status.bundleLookups`.
	ConditionSignatureVerified = "SignatureVerified"

	// ConditionTemplatesHaveResolved is True where the annotation olm.catalogImageTemplate gives an image. It is OLM's.
	ConditionTemplatesHaveResolved = "TemplatesHaveResolved"

	// ConditionResolvedImage is True where the annotation olm.catalogImageTemplate gives an image, which is its message. It is OLM's.
	ConditionResolvedImage = "ResolvedImage"
)

// Reasons of TemplatesHaveResolved and ResolvedImage on a CatalogSource.
const (
	// ReasonAllTemplatesResolved: each variable has a value, and the result names an image.
	ReasonAllTemplatesResolved = "AllTemplatesResolved"

	// ReasonUnableToResolve: a variable has no value, or the result names no image. What the spec names is read, if it names anything.
	ReasonUnableToResolve = "UnableToResolve"
)

// Reasons of SignatureVerified. Those that it is False for are reasons of Healthy on a CatalogSource, and of Resolved on an InstallPlan.
const (
	// ReasonSignatureVerified: for each ImagePolicy the message names the authority that signed.
	ReasonSignatureVerified = "SignatureVerified"

	// ReasonSignatureMissing: the registry has no signature of the image. Nothing in the image is read until it has.
	ReasonSignatureMissing = "SignatureMissing"

	// ReasonSignatureInvalid: the image is signed, but by no authority that the ImagePolicy names.
	ReasonSignatureInvalid = "SignatureInvalid"

	// ReasonImagePolicyInvalid: a key of the ImagePolicy cannot be decoded.
	ReasonImagePolicyInvalid = "ImagePolicyInvalid"
)

// Reasons of Healthy on a CatalogSource.
const (
	// ReasonCatalogRead: all of the content was read.
	ReasonCatalogRead = "CatalogRead"

	// ReasonPackagesInvalid: the content was read, but some packages make no sense. The message names them.
	ReasonPackagesInvalid = "PackagesInvalid"

	// ReasonConnecting: the content is being read for the first time.
	ReasonConnecting = "Connecting"

	// ReasonUnreachable: the registry does not answer. What was read last stays in use.
	ReasonUnreachable = "Unreachable"

	// ReasonAddressNotAllowed: a catalog that is not trusted refers to a loopback or link-local address, or to the API server. The message
	// names the flag that allows it.
	ReasonAddressNotAllowed = "AddressNotAllowed"

	// ReasonPlaintextNotAllowed: the registry would be connected to without TLS. The message names the flag that allows it.
	ReasonPlaintextNotAllowed = "PlaintextNotAllowed"

	// ReasonDigestRequired: an image is referred to by a tag, and the manager's --require-digests is set.
	ReasonDigestRequired = "DigestRequired"

	// ReasonImagePullFailed: the image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonNotACatalog: the image or ConfigMap holds no file-based catalog.
	ReasonNotACatalog = "NotACatalog"

	// ReasonTooLarge: the content is larger than is allowed, alone or together with that of other catalogs that are not trusted. The message
	// tells the limit.
	ReasonTooLarge = "TooLarge"

	// ReasonConfigMapNotFound: there is no ConfigMap of that name.
	ReasonConfigMapNotFound = "ConfigMapNotFound"

	// ReasonCatalogsTooLarge: several large catalogs were being read at once, which takes more memory than there is for it. It is read
	// again later.
	ReasonCatalogsTooLarge = "CatalogsTooLarge"

	// ReasonTooManyCatalogSources: the catalog is not trusted with the cluster, and its namespace has older CatalogSources, as many as are
	// read.
	ReasonTooManyCatalogSources = "TooManyCatalogSources"

	// ReasonCertificateAuthorityInvalid: the certificate of the registry is not trusted, or the authority that is named for it cannot be
	// read.
	ReasonCertificateAuthorityInvalid = "CertificateAuthorityInvalid"

	// ReasonSpecInvalid: the spec names no source, or one of a type that there is none of.
	ReasonSpecInvalid = "SpecInvalid"
)

// Condition types of an InstallPlan beside OLM's Resolved and Installed.
const (
	// ConditionUpgradeHeld is True where the plan is not approved because a running operator does not allow its update.
	ConditionUpgradeHeld = "UpgradeHeld"
)

// Reasons of Resolved on an InstallPlan. Those of ResolutionFailed on a Subscription are reasons of it too.
const (
	// PlanReasonTooLarge: the plan's manifests do not fit into one object, even compressed.
	PlanReasonTooLarge = "PlanTooLarge"

	// PlanReasonServiceAccountRequired: a bundle is from a catalog that is not trusted with the cluster, and the OperatorGroup
	// names no service account to install it as. The message says what to do.
	PlanReasonServiceAccountRequired = "ServiceAccountRequired"
)

// Reasons of Installed on an InstallPlan.
const (
	// PlanReasonComponentFailed: the API server refused a step. The message names the step and quotes the answer.
	PlanReasonComponentFailed = "InstallComponentFailed"

	// PlanReasonRetrying: a step failed for a reason that may pass. It is tried again.
	PlanReasonRetrying = "Retrying"

	// PlanReasonForbidden: the identity that the plan is applied as lacks a right, or a quota or a policy is in the way. It is
	// tried again, since rights may be granted.
	PlanReasonForbidden = "Forbidden"

	// PlanReasonKindNotServed: the API server does not serve the kind of an object that a bundle brings.
	PlanReasonKindNotServed = "KindNotServed"

	// PlanReasonContentGone: the content of a plan that had been begun was lost. The message names the steps that are missing.
	PlanReasonContentGone = "ContentGone"

	// PlanReasonContentChanged: what the catalog offers by the same name is not what was shown when the plan was approved.
	PlanReasonContentChanged = "ContentChanged"

	// PlanReasonIdentityChanged: the OperatorGroup names another service account than when the plan was begun.
	PlanReasonIdentityChanged = "IdentityChanged"

	// PlanReasonCRDUpdateUnsafe: the new CustomResourceDefinition would make existing custom resources invalid, or drop
	// a version that they are stored in.
	PlanReasonCRDUpdateUnsafe = "CRDUpdateUnsafe"

	// PlanReasonServiceAccountMissing: the OperatorGroup's service account, as which the plan is to run, is not there.
	PlanReasonServiceAccountMissing = "ServiceAccountMissing"
)

// Events.
const (
	// EventUpgradeOverridden: an update goes on that the running operator would hold, because an administrator said so.
	EventUpgradeOverridden = "UpgradeOverridden"

	// EventProbeBlind: for ten minutes the custom resources of a Probe could not be read, so that an update may wait for a
	// right or an account that somebody has to grant or create.
	EventProbeBlind = "ProbeBlind"

	// EventUndecodable: an object does not fit the Go type of its kind, though the schema of its CustomResourceDefinition allows it. It
	// is regarded as it was before, or not at all, until it is corrected.
	EventUndecodable = "Undecodable"

	// EventNotCleanedUp: a ClusterServiceVersion with spec.cleanup.enabled was deleted, and some custom resources stay, since its operator
	// may not delete them.
	EventNotCleanedUp = "NotCleanedUp"

	// EventActionCleanUp is what failed then.
	EventActionCleanUp = "CleanUp"

	// EventActionChangePhase is what a ClusterServiceVersion did when its phase or the reason of it changed. The Event's reason is that one.
	EventActionChangePhase = "ChangePhase"

	// EventActionRead is what failed where something cannot be read.
	EventActionRead = "Read"

	// EventActionRemake is what is done to an InstallPlan that must not go on: it is deleted, and its Subscription makes another.
	EventActionRemake = "Remake"

	// EventNotHandedOver: objects of a kind could not be read when a ClusterServiceVersion handed over what it owns.
	EventNotHandedOver = "NotHandedOver"

	// EventActionHandOver is what failed then.
	EventActionHandOver = "HandOver"

	// EventActionApprove is what is done to an InstallPlan by that.
	EventActionApprove = "Approve"
)
