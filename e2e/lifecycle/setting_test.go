package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// setting is the fixture that a bad catalog or bundle is created in.
type setting struct {
	*stage
	registry registry
	name     string
	good     testcatalog.Package // served once the problem is fixed
	victim   string              // a folder that must stay empty
}

// checkBadCatalogs creates each bad catalog beside a good one and subscribes to both. It verifies that the manager and
// the good catalog are not affected and that nothing is written outside the manager's folder.
func checkBadCatalogs(t *testing.T, cases map[string]badCatalog) {
	t.Helper()
	around := t.TempDir()
	folder := filepath.Join(around, "catalogs")
	manager := cluster.StartManager(t, "--catalog-dir="+folder)
	images := newRegistry(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bad, near := testcatalog.Foo{Name: name, Version: "1.0.0"}, testcatalog.Foo{Name: "near" + name, Version: "1.0.0"}
			in := setting{registry: images, name: name, good: publish(t, bad), victim: t.TempDir()}
			in.stage = newStage(t, "badcatalog-"+name, publish(t, near))
			spec, mend := tc.set(t, in)
			before := manager.PeakMemory(t)
			source := in.source(t, spec)
			sub := in.subscribe(t, name, func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = source.Name })
			neighbour := in.subscribe(t, near.Name)

			in.awaitHealth(t, source, metav1.ConditionFalse, tc.want, tc.words...)
			in.awaitTrue(t, sub, v1alpha1.SubscriptionCatalogSourceInvalid, v1alpha1.ReasonCatalogSourceUnreadable, append(tc.words, tc.want)...)
			if sub.Status.Message == "" || sub.Status.UpToDate {
				t.Errorf("%s: message %q, UpToDate %v", tc.reason, sub.Status.Message, sub.Status.UpToDate)
			}
			in.awaitUnaffected(t, neighbour, near.CSV(), source.Name)
			t.Logf("%s\npeak memory of the manager: %d MiB before, %d MiB after", healthOf(source), before>>20, manager.PeakMemory(t)>>20)
			checkWritten(t, around, folder, in.victim)
			if mend == nil {
				return
			}
			mend()
			in.awaitHealth(t, source, metav1.ConditionTrue, v1alpha1.ReasonCatalogRead)
			in.awaitInstalled(t, sub, bad.CSV())
			in.awaitInstalled(t, neighbour, near.CSV())
		})
	}
	if peak := manager.PeakMemoryOfOne(t) >> 20; peak > memoryLimit {
		t.Errorf("the manager used %d MiB of memory, more than the limit of its pod, %d MiB", peak, memoryLimit)
	}
	manager.CheckAlive(t)
}

// memoryLimit is the memory limit of the manager's pod in MiB.
const memoryLimit = 512

// checkWritten fails the test if files exist outside the manager's folder or an unusable catalog left any in it.
func checkWritten(t *testing.T, around, folder, victim string) {
	t.Helper()
	for dir, want := range map[string][]string{around: {filepath.Base(folder)}, folder: {"content", "new", "used"}, filepath.Join(folder, "new"): nil,
		victim: nil} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("folder %s contains %v, want %v", dir, got, want)
		}
	}
	const most = 1 << 20
	if size := sizeOf(t, folder); size > most {
		t.Errorf("%d bytes of the unusable catalog are left in the manager's folder", size)
	}
}

// sizeOf returns the total size of the files in a folder in bytes.
func sizeOf(t *testing.T, folder string) (out int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func addressSpec(address string) olm.CatalogSourceSpec {
	return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Address: address}
}

func imageSpec(image string) olm.CatalogSourceSpec {
	return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: image}
}

// withPolling sets the poll interval of an image to a second.
func withPolling(spec olm.CatalogSourceSpec) olm.CatalogSourceSpec {
	spec.UpdateStrategy = &olm.UpdateStrategy{RegistryPoll: &olm.RegistryPoll{RawInterval: "1s"}}
	return spec
}

// withImage returns a set function that pushes an image of one layer. Repair pushes a good catalog in its place.
func withImage(layer func(*testing.T, setting) []testcatalog.Entry) func(*testing.T, setting) (olm.CatalogSourceSpec, func()) {
	return func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
		t.Helper()
		spec := withPolling(imageSpec(in.registry.push(t, in.name, image(t, layer(t, in)))))
		return spec, func() { in.registry.push(t, in.name, catalogImage(t, in.good)) }
	}
}

// source creates a second CatalogSource for the stage in the global namespace and deletes it after the test.
func (s *stage) source(t *testing.T, spec olm.CatalogSourceSpec) *olm.CatalogSource {
	t.Helper()
	out := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: global, Name: s.namespace + "-bad"}, Spec: spec}
	cluster.Create(t, out)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), out); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return out
}

// awaitHealth waits until Healthy of a CatalogSource has that status and reason and its message contains the words.
func (s *stage) awaitHealth(t *testing.T, source *olm.CatalogSource, status metav1.ConditionStatus, reason string, words ...string) {
	t.Helper()
	s.await(t, source, func() string {
		c := cmp.Or(meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionHealthy), &metav1.Condition{})
		if c.Status != status || c.Reason != reason || missingWord(c.Message, words) != "" {
			return healthOf(source)
		}
		return ""
	})
	if bad := status == metav1.ConditionFalse; bad != (source.Status.Message != "") || bad == (source.Status.GRPCConnectionState.LastObservedState == "READY") {
		t.Errorf("the fields for older clients do not match: message %q, connection %+v", source.Status.Message, source.Status.GRPCConnectionState)
	}
}

func healthOf(source *olm.CatalogSource) string {
	c := cmp.Or(meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionHealthy), &metav1.Condition{})
	return fmt.Sprintf("Healthy is %s (%s): %s", c.Status, c.Reason, c.Message)
}

// missingWord returns the first of the words that a message does not contain, or empty.
func missingWord(message string, words []string) string {
	i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(message, w) })
	if i < 0 {
		return ""
	}
	return words[i]
}

// awaitUnaffected waits until an operator is up to date and its Subscription reports only the unhealthy catalog.
func (s *stage) awaitUnaffected(t *testing.T, sub *v1alpha1.Subscription, csv, unhealthy string) {
	t.Helper()
	s.await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionCatalogSourcesUnhealthy)
		if sub.Status.InstalledCSV != csv || !sub.Status.UpToDate || c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, unhealthy) ||
			sub.Status.Message != c.Message {
			return fmt.Sprintf("installedCSV is %q, UpToDate %v, message %q", sub.Status.InstalledCSV, sub.Status.UpToDate, sub.Status.Message)
		}
		return ""
	})
	found := &v1alpha1.ClusterServiceVersion{}
	if err := cluster.Client.Get(t.Context(), s.key(csv), found); err != nil || found.Status.Phase != olm.CSVPhaseSucceeded {
		t.Fatalf("the Subscription reports that %s is installed and running, but it is not: %v %s", csv, err, found.Status.Phase)
	}
}
