package probe

import "errors"

// Errors that callers can distinguish with errors.Is. Other errors come from the API server and keep their type, so the
// functions of k8s.io/apimachinery/pkg/api/errors apply to them.
var (
	// ErrNotServed means that the API server does not serve Probes: operator-status is not installed, so nothing would
	// read the Probe. An operator that also has to run on such clusters ignores the error.
	ErrNotServed = errors.New("the API server does not serve probes.operators.coreos.com")

	// ErrUnknownOperator means that neither a ClusterServiceVersion nor a workload that the operator belongs to is known.
	ErrUnknownOperator = errors.New("the ClusterServiceVersion or workload of this operator is not known")

	// ErrNoCSV means that the operator's ClusterServiceVersion does not exist, so no Probe is created for it: it was
	// deleted, for example because a newer version has replaced this one, or the operator was not installed by it.
	ErrNoCSV = errors.New("the ClusterServiceVersion does not exist")

	// ErrCRDAnnotations means that operator-status made the Probe from annotations of the operator's
	// CustomResourceDefinitions, and writes its status. An operator either annotates or uses this package.
	ErrCRDAnnotations = errors.New("spec.manager is crdAnnotations: to write the status with this package, " +
		"remove the annotations olm.operatorframework.io/condition.* from the operator's CustomResourceDefinitions")

	// ErrProbeResources means that spec.probeResources is not empty: operator-status computes the status from the custom
	// resources named there, so the operator must not write it.
	ErrProbeResources = errors.New("spec.probeResources is not empty: to write the status with this package, " +
		"remove it or delete the Probe")

	// ErrInvalidCondition means that the API server would reject a condition. Nothing was sent.
	ErrInvalidCondition = errors.New("invalid condition")

	// ErrInvalidObject means that Hold was called for an object without kind or name. Nothing was sent.
	ErrInvalidObject = errors.New("an object that holds updates needs a kind and a name")
)
