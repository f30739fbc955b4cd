package store

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	catalogsourcestatus "github.com/operator-status/operator-status/internal/status/catalogsource"
)

// target is the source and the interval of a CatalogSource's reads. A poller is replaced only if its target changes.
type target struct {
	// problem with the spec, or empty.
	problem string

	// tooMany is true if the namespace has too many CatalogSources for this one to be read.
	tooMany bool

	image     string
	address   string
	configMap types.NamespacedName

	// authority that registries are verified with.
	authority authority

	// version is the UID and resourceVersion of the ConfigMap.
	version string

	// demand is the hash of the ImagePolicies' requirements for the image, or empty.
	demand string

	// secrets are the names of the pull secrets, joined by commas.
	secrets string

	every time.Duration
}

// Minimum intervals between reads, regardless of the spec: of any catalog, and of one that is not trusted.
const shortestEvery, shortestUntrusted = time.Second, 15 * time.Second

// targetOf returns the target of a CatalogSource on a cluster with that version of Kubernetes.
func targetOf(cs *olm.CatalogSource, kubernetes version.Info) target {
	out := target{secrets: strings.Join(cs.Spec.Secrets, ",")}
	var err error
	if out.authority, err = parseAuthority(cs.Annotations[v1alpha1.AnnotationRegistryCA]); err != nil {
		out.problem = err.Error()
		return out
	}
	switch cs.Spec.SourceType {
	case olm.SourceTypeGrpc:
		out.grpc(cs, templateOf(cs, kubernetes))
	case olm.SourceTypeConfigmap, olm.SourceTypeInternal:
		out.configMap = types.NamespacedName{Namespace: cs.Namespace, Name: cs.Spec.ConfigMap}
		if cs.Spec.ConfigMap == "" {
			out.problem = fmt.Sprintf("spec.sourceType is %s, so spec.configMap must be set", cs.Spec.SourceType)
		}
	default:
		out.problem = fmt.Sprintf("spec.sourceType %q is none of %s, %s and %s",
			cs.Spec.SourceType, olm.SourceTypeGrpc, olm.SourceTypeConfigmap, olm.SourceTypeInternal)
	}
	return out
}

func (t *target) grpc(cs *olm.CatalogSource, template *catalogsourcestatus.Template) {
	if cs.Spec.UpdateStrategy != nil && cs.Spec.UpdateStrategy.RegistryPoll != nil {
		t.every = max(cs.Spec.UpdateStrategy.Interval.Duration, shortestEvery)
	}
	switch {
	case template != nil && template.Problem == "":
		t.image = template.Image
	case cs.Spec.Image != "":
		t.image = cs.Spec.Image
		if _, err := catalog.ParseImage(t.image); err != nil {
			t.problem = fmt.Sprintf("spec.image is not a valid image reference: %v", err)
		}
	case cs.Spec.Address != "":
		t.address = cs.Spec.Address
		t.every = cmp.Or(t.every, defaultEvery)
		if !isAddress(t.address) {
			t.problem = fmt.Sprintf("spec.address %q is not <host>:<port>", t.address)
		}
	case template != nil:
		t.problem = fmt.Sprintf("annotation %s: %s, and neither spec.image nor spec.address is set", annotationImageTemplate, template.Problem)
	default:
		t.problem = "spec.sourceType is grpc, so spec.image, or spec.address with the <host>:<port> of a registry, must be set"
	}
}

func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.Contains(host, "/") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// source returns the image, address or ConfigMap, for the status.
func (t target) source() catalogsourcestatus.Source {
	return catalogsourcestatus.Source{Image: t.image, Address: t.address, ConfigMap: t.configMap}
}
