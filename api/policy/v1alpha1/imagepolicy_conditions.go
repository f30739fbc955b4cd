package v1alpha1

// ConditionMatched of an ImagePolicy is True if it applies to the image of a CatalogSource.
const ConditionMatched = "Matched"

// Reasons of Matched on an ImagePolicy.
const (
	// ReasonCatalogsFound means that the policy applies to the CatalogSources in its status.
	// Remedy: none, this is the desired state.
	ReasonCatalogsFound = "CatalogsFound"

	// ReasonNoCatalogFound means that no CatalogSource has an image that a prefix of the policy matches, or another policy has a longer
	// prefix of each of them. The policy may apply to images of bundles.
	// Remedy: none, if it is for bundles or for catalogs to come. Otherwise correct spec.matchImages.
	ReasonNoCatalogFound = "NoCatalogFound"
)

// ConditionValid of an ImagePolicy is False if it can be satisfied by no image.
const ConditionValid = "Valid"

// Reasons of Valid on an ImagePolicy.
const (
	// ReasonValid means that all prefixes and keys of the policy can be used.
	// Remedy: none, this is the desired state.
	ReasonValid = "Valid"

	// ReasonPrefixInvalid means that a prefix cannot be compared with images. No image of a catalog or bundle is read meanwhile, since the
	// policy might apply to it.
	// Remedy: correct the prefix in the message.
	ReasonPrefixInvalid = "PrefixInvalid"

	// ReasonKeyInvalid means that a key of an authority cannot be decoded. No image that the policy applies to is read meanwhile.
	// Remedy: set the key to the content of cosign.pub.
	ReasonKeyInvalid = "KeyInvalid"
)
