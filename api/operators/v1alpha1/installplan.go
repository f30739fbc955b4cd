package v1alpha1

// PlanManifestCompressed is the prefix of a manifest in status.plan of an InstallPlan that is gzipped and base64-encoded, as
// the built-in loops do if all manifests are too long for one object.
const PlanManifestCompressed = "gzip+base64:"
