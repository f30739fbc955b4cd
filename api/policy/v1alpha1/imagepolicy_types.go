package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ImagePolicyKind is the kind of an ImagePolicy.
const ImagePolicyKind = "ImagePolicy"

// AllImages is the prefix that matches every image.
const AllImages = "*"

// ImagePolicySpec defines which images of catalogs and bundles must be signed, and by whom.
type ImagePolicySpec struct {
	// MatchImages selects the images that the policy applies to. If several policies match an image, those with the
	// longest matching prefix apply, and the image must satisfy all of them. The images that operators run are not
	// subject to any policy: the kubelet pulls them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	MatchImages []ImageMatch `json:"matchImages"`

	// Verification defines how the images are verified before anything in them is read.
	Verification ImageVerification `json:"verification"`
}

// ImageMatch selects images.
type ImageMatch struct {
	// Type of the match. Prefix compares the start of the image's repository, such as quay.io/example/catalog, by whole
	// path components: quay.io/example does not match quay.io/example-two/catalog.
	// +optional
	// +kubebuilder:validation:Enum=Prefix
	// +kubebuilder:default=Prefix
	Type ImageMatchType `json:"type,omitempty"`

	// Prefix of a repository, without scheme, tag and digest; * for all images. It begins with the host of a registry, which is
	// docker.io for Docker Hub, and matches every port if it has none. docker.io/nginx matches the official image and the
	// images of an organization of that name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^(\*|([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*/?)$`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == '*' || self.matches('^(localhost|[^/]*[.:][^/]*)(/|$)')",message="the prefix must begin with the host of a registry, as in docker.io/library/nginx; one without a dot needs a port"
	Prefix string `json:"prefix"`
}

// ImageMatchType defines how an ImageMatch selects images.
type ImageMatchType string

// ImageMatchPrefix compares the start of the image's repository.
const ImageMatchPrefix ImageMatchType = "Prefix"

// ImageVerification defines how images are verified.
type ImageVerification struct {
	// Provider of the verification.
	// +kubebuilder:validation:Enum=Cosign
	Provider VerificationProvider `json:"provider"`

	// Cosign verifies signatures created by cosign with a key.
	Cosign CosignVerification `json:"cosign"`
}

// VerificationProvider is the tool that signed the images.
type VerificationProvider string

// ProviderCosign verifies signatures created by cosign.
const ProviderCosign VerificationProvider = "Cosign"

// CosignVerification names the authorities whose signatures are accepted.
type CosignVerification struct {
	// Authorities that may sign. A valid signature of one of them is sufficient.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Authorities []CosignAuthority `json:"authorities"`
}

// CosignAuthority is a signer of images, identified by its key.
type CosignAuthority struct {
	// Name of the authority, as shown in statuses.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Key is the public key of the authority in PEM form, as in cosign.pub: ECDSA, RSA or Ed25519.
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:XValidation:rule="self.contains('-----BEGIN PUBLIC KEY-----')",message="the key must be a public key in PEM format, starting with -----BEGIN PUBLIC KEY-----"
	Key string `json:"key"`
}

// MaxCatalogs is the number of CatalogSources that the status of an ImagePolicy lists.
const MaxCatalogs = 20

// ImagePolicyStatus reports which catalogs an ImagePolicy applies to. The images of bundles are not listed.
type ImagePolicyStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Matched and Valid.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Catalogs are the CatalogSources to whose images the policy applies, sorted, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Catalogs []MatchedCatalog `json:"catalogs,omitempty"`

	// Summary counts them.
	// +optional
	Summary ImagePolicySummary `json:"summary,omitzero"`
}

// MatchedCatalog is a CatalogSource to whose image an ImagePolicy applies.
type MatchedCatalog struct {
	// Namespace of the CatalogSource.
	Namespace string `json:"namespace"`

	// Name of the CatalogSource.
	Name string `json:"name"`

	// Image of the catalog.
	Image string `json:"image"`
}

// ImagePolicySummary counts the CatalogSources that an ImagePolicy applies to.
type ImagePolicySummary struct {
	// Catalogs is the number of CatalogSources to whose images the policy applies.
	// +optional
	Catalogs int32 `json:"catalogs"`
}

// ImagePolicy requires images of catalogs and bundles to be signed. The built-in loops enforce it; a real OLM ignores
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=operator-status
// +kubebuilder:printcolumn:name="Images",type=string,JSONPath=`.spec.matchImages[*].prefix`
// +kubebuilder:printcolumn:name="Authorities",type=string,JSONPath=`.spec.verification.cosign.authorities[*].name`
// +kubebuilder:printcolumn:name="Catalogs",type=integer,JSONPath=`.status.summary.catalogs`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ImagePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec defines which images must be signed, and by whom.
	Spec ImagePolicySpec `json:"spec"`

	// Status reports which catalogs it applies to.
	// +optional
	Status ImagePolicyStatus `json:"status,omitzero"`
}

// ImagePolicyList is a list of ImagePolicies.
//
// +kubebuilder:object:root=true
type ImagePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ImagePolicy `json:"items"`
}
