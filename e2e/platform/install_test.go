package platform

import (
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestInstallAndUpdate verifies that a package name is enough to install an operator, that an update is held by the
// operator's custom resource, and that it continues once the custom resource permits.
func TestInstallAndUpdate(t *testing.T) {
	s := newStage(t, publish(t, "simple", "1.0.0"))
	op := create(t, "simple")
	awaitRunning(t, op, "1.0.0")
	sub := subscriptionOf(op)
	cluster.Await(t, sub, func() string { return "" })
	if sub.Spec.InstallPlanApproval != olm.ApprovalManual || !sub.IsGated() {
		t.Errorf("the Subscription does not have the approval gate: %+v %v", sub.Spec, sub.Labels)
	}

	apply(t, op, `{apiVersion: simple.example.com/v1, kind: Simple, metadata: {name: example}, status: {conditions: [{type: Migrating, status: "True"}]}}`)
	awaitConditions(t, op, "Upgradeable=False/NotUpgradeable", "Ready=True/Available")
	s.offer(t, publish(t, "simple", "1.0.0", "1.1.0"))
	awaitConditions(t, op, "Progressing=False/UpdateHeld", "UpToDate=False/NewestDoesNotRun", "Ready=True/Available")
	checkMessage(t, op, v1alpha1.ConditionProgressing, "Simple .*/example", "Migrating", "kubectl annotate subscription.operators.coreos.com")
	if op.Status.Version != "1.0.0" {
		t.Errorf("status.version is %s, want the running version", op.Status.Version)
	}
	example := builder.Object("simple.example.com/v1", "Simple", "simple", "example")
	if err := cluster.Rediscovered(t).Client.Status().Patch(t.Context(), example, hasMigrated); err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, op, "1.1.0")
	if err := cluster.Rediscovered(t).Client.Delete(t.Context(), example); err != nil { // it would block deletion
		t.Fatal(err)
	}
	s.manager.CheckAlive(t)
}

// TestPackageNotFound verifies that the conditions report a package that is not found and suggest a similar name. The
// package is immutable, because another package is another operator.
func TestPackageNotFound(t *testing.T) {
	s := newStage(t, publish(t, "pearl", "1.0.0"))
	op := create(t, "perl")
	awaitConditions(t, op, "Installed=False/PackageNotFound", "Ready=False/Failed", "Progressing=True/Installing", "Synced=True/Synced")
	checkMessage(t, op, v1alpha1.ConditionInstalled, "perl", "pearl")
	checkMessage(t, op, v1alpha1.ConditionReady, "Subscription perl/perl", "PackageNotFound", "pearl")
	if op.Status.FailingSince == nil || op.Status.FailingReason != "PackageNotFound" {
		t.Errorf("the PlatformOperator is not reported as failing: %+v", op.Status)
	}
	err := cluster.Client.Patch(t.Context(), op, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"package":{"name":"pearl"}}}`)))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "create another PlatformOperator, and delete this one") {
		t.Errorf("changing the package returned %v, want Invalid", err)
	}
	s.offer(t, publish(t, "pearl", "1.0.0"), publish(t, "perl", "1.0.0"))
	awaitRunning(t, op, "1.0.0")
	if op.Status.FailingSince == nil || op.Status.QuietSince == nil {
		t.Errorf("the recent failure is no longer reported: %+v", op.Status)
	}
}
