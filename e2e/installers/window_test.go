package installers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestUpdateWindow verifies that an UpgradeHold of a user holds from a time on, but not in its update windows.
func TestUpdateWindow(t *testing.T) {
	manager := cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "nightly")
	cluster.Apply(t, o.Namespace, o.Manifests(story.First))
	o.AwaitImage(t, story.First)
	until := time.Now().Add(10 * 24 * time.Hour)
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	hold.Spec = holdv1alpha1.UpgradeHoldSpec{
		Operator:  holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name},
		HoldTerms: holdv1alpha1.HoldTerms{Message: "end of the year", From: new(metav1.NewTime(until.Add(-time.Hour))), Until: new(metav1.NewTime(until))},
	}
	cluster.Create(t, hold)
	await := func(conditions ...string) {
		t.Helper()
		cluster.Await(t, hold, func() string { return testcluster.Lacking(hold.Status.Conditions, conditions...) })
	}
	image := func() error {
		return plain().Patch(t.Context(), workloadOf("Deployment", o.Namespace, o.Name),
			client.RawPatch(types.StrategicMergePatchType, []byte(container(`"image":"example.com/other:2"`))))
	}
	await("Held=False/NotStarted", "Enforced=False/NotHeld")
	if err := image(); err != nil {
		t.Errorf("before the hold begins, an update is denied: %v", err)
	}
	change := func(change func()) {
		t.Helper()
		before := hold.DeepCopy()
		change()
		if err := cluster.Client.Patch(t.Context(), hold, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	from := time.Now().Truncate(time.Second).Add(3 * time.Second)
	change(func() { hold.Spec.From = new(metav1.NewTime(from)) })
	await("Held=True/HeldByUser", "Enforced=True/PolicyBound")
	if time.Now().Before(from) {
		t.Error("the hold began too early")
	}

	setWindow := func(schedule string) {
		t.Helper()
		change(func() {
			hold.Spec.UpdateWindows = []holdv1alpha1.UpdateWindow{{Schedule: schedule, Duration: metav1.Duration{Duration: time.Hour}, TimeZone: "Europe/Berlin"}}
		})
	}
	setWindow("* * * * *")
	cluster.Await(t, hold, func() string {
		if lacking := testcluster.Lacking(hold.Status.Conditions, "Held=False/UpdateWindow", "Enforced=False/NotHeld"); lacking != "" {
			return lacking
		}
		if err := image(); err != nil { // the API server reads the index a moment after the manager has written it
			return fmt.Sprintf("in an update window, an update is denied: %v", err)
		}
		return ""
	})
	opens := time.Now().Add(48 * time.Hour).In(berlin(t)).Truncate(time.Minute)
	setWindow(opens.Format("4 15 2 1 *"))
	cluster.Await(t, hold, func() string {
		if image() == nil {
			return "the update is not denied yet"
		}
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/HeldByUser", "Enforced=True/PolicyBound")
	})
	if err := image(); err == nil || !strings.Contains(err.Error(), "until "+opens.UTC().Format(time.RFC3339)+": end of the year") {
		t.Errorf("the denial does not have the time at which the window opens, %s: %v", opens.UTC(), err)
	}

	refused := hold.DeepCopy()
	refused.Spec.UpdateWindows[0].Duration.Duration = 25 * time.Hour
	if err := cluster.Client.Update(t.Context(), refused); !apierrors.IsInvalid(err) {
		t.Errorf("a window of more than a day returns %v", err)
	}
	refused = hold.DeepCopy()
	refused.Spec.From = new(metav1.NewTime(until.Add(time.Second)))
	if err := cluster.Client.Update(t.Context(), refused); !apierrors.IsInvalid(err) {
		t.Errorf("a hold that begins after its end returns %v", err)
	}
	if err := cluster.Client.Delete(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	manager.CheckAlive(t)
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	out, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
