package olmv0

import (
	"cmp"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
)

// Catalog describes a CatalogSource.
type Catalog struct {
	Namespace, Name string

	// Healthy is the condition Healthy. Beside OLM it is that of OLM's connection, and its transition time may be zero.
	Healthy metav1.Condition

	// Polled is when its image was last polled, or zero.
	Polled metav1.Time
}

// Catalogs describes CatalogSources.
func Catalogs(sources []olm.CatalogSource) []Catalog {
	var out []Catalog
	for i := range sources {
		source := &sources[i]
		healthy := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionHealthy)
		if healthy == nil {
			ofOLM := bridge.CatalogHealth(source)
			if state := source.Status.GRPCConnectionState; state != nil {
				ofOLM.LastTransitionTime = state.LastConnectTime
			}
			healthy = &ofOLM
		}
		polled := cmp.Or(source.Status.LatestImageRegistryPoll, &metav1.Time{})
		out = append(out, Catalog{Namespace: source.Namespace, Name: source.Name, Healthy: *healthy, Polled: *polled})
	}
	return out
}
