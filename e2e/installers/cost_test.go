package installers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// BenchmarkPolicies measures what the policies cost those who update nothing that is held: the processor time of the API server and the
// median latency of requests, as ratios to those without the policies.
func BenchmarkPolicies(b *testing.B) {
	namespace := "priced"
	cluster.Create(b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	cluster.Create(b, workloadOf("Deployment", namespace, "neighbour"))
	cluster.Apply(b, namespace, builder.CRD("prices", "example.com"))
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "prices.example.com"}}
	cluster.AwaitCRD(b, crd.Name)
	requests := map[string]func(i int) error{
		"setting of a Deployment": func(i int) error {
			return dryPatch(b, workloadOf("Deployment", namespace, "neighbour"), fmt.Sprintf(`{"metadata":{"labels":{"a":"%d"}}}`, i))
		},
		"image of a Deployment": func(i int) error {
			return dryPatch(b, workloadOf("Deployment", namespace, "neighbour"), container(fmt.Sprintf(`"image":"example.com/neighbour:%d"`, i+2)))
		},
		"Secret": func(i int) error {
			return plain().Create(b.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("s%d", i)}})
		},
		"record of Helm": func(i int) error {
			return plain().Create(b.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("s%d", i),
				Labels: map[string]string{"owner": "helm", "name": "priced", "status": "pending-upgrade", "version": "2"},
			}})
		},
		"label of a CustomResourceDefinition": func(i int) error {
			return plain().Patch(b.Context(), crd.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"a":"%d"}}}`, i)))
		},
	}
	apiServer := testcluster.Processes(b, filepath.Dir(kubeconfig))["kube-apiserver"]
	all := bindings(b)
	for _, holds := range []int{0, 10, 500} {
		b.Run(fmt.Sprintf("%d holds", holds), func(b *testing.B) {
			holdOthers(b, holds)
			with, without := map[string]figures{}, map[string]figures{}
			for range rounds {
				for name, request := range requests {
					with[name] = with[name].plus(measure(b, apiServer, request))
				}
				unbind(b, all)
				for name, request := range requests {
					without[name] = without[name].plus(measure(b, apiServer, request))
				}
				bind(b, all)
			}
			for name := range requests {
				unit := strings.ReplaceAll(name, " ", "-")
				b.ReportMetric(float64(with[name].processor)/float64(without[name].processor), unit+"-x-of-CPU")
				b.ReportMetric(float64(with[name].median())/float64(without[name].median()), unit+"-x-of-latency")
			}
		})
	}
}

// rounds is how often the requests with and without the policies alternate, and requestsOfRound how many a round has.
const (
	rounds          = 4
	requestsOfRound = 250
)

// figures are those of requests.
type figures struct {
	processor time.Duration
	latencies []time.Duration
}

func (f figures) plus(g figures) figures {
	return figures{f.processor + g.processor, append(f.latencies, g.latencies...)}
}

func (f figures) median() time.Duration {
	slices.Sort(f.latencies)
	return f.latencies[len(f.latencies)/2]
}

// measure sends the requests of a round.
func measure(b *testing.B, apiServer int, request func(i int) error) (out figures) {
	b.Helper()
	before := testcluster.ProcessorTime(b, apiServer)
	for i := range requestsOfRound {
		start := time.Now()
		if err := request(i); err != nil {
			b.Fatal(err)
		}
		out.latencies = append(out.latencies, time.Since(start))
	}
	out.processor = testcluster.ProcessorTime(b, apiServer) - before
	return out
}

// bindings are those of the policies that enforce UpgradeHolds.
func bindings(b *testing.B) []admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	b.Helper()
	list := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := cluster.Client.List(b.Context(), list, client.HasLabels{holdv1alpha1.LabelEnforces}); err != nil {
		b.Fatal(err)
	}
	return list.Items
}

// settle waits until the API server has noticed a change of the bindings, which it does not report.
func settle() { time.Sleep(2 * time.Second) }

func bind(b *testing.B, all []admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	b.Helper()
	for i := range all {
		o := all[i].DeepCopy()
		o.ResourceVersion, o.UID = "", ""
		cluster.Create(b, o)
	}
	settle()
}

func unbind(b *testing.B, all []admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	b.Helper()
	for i := range all {
		if err := cluster.Client.Delete(b.Context(), &all[i]); err != nil {
			b.Fatal(err)
		}
	}
	settle()
}

func dryPatch(b *testing.B, o client.Object, patch string) error {
	b.Helper()
	return plain().Patch(b.Context(), o, client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
}
