package installplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// TestLookups verifies that a plan shows the digest and the signer of each bundle's image, and is resolved again only
// if the catalog has another image.
func TestLookups(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	signed := []olm.BundleLookupCondition{{
		Type: v1alpha1.ConditionSignatureVerified, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonSignatureVerified,
		Message: "Signed by acme (ImagePolicy acme)", LastTransitionTime: &metav1.Time{},
	}}
	tests := map[string]struct {
		reason      string
		image       string
		bundle      record.Bundle
		path        string
		conditions  []olm.BundleLookupCondition
		now         string
		wantAnother bool
	}{
		"inlined": {reason: "What the catalog holds has no image."},
		"tag": {
			reason: "The digest records what the tag referred to.",
			image:  "example.com/foo:v1", bundle: record.Bundle{Digest: digest}, path: "example.com/foo:v1@" + digest, now: "example.com/foo:v1",
		},
		"digest": {image: "example.com/foo@" + digest, bundle: record.Bundle{Digest: digest}, path: "example.com/foo@" + digest, now: "example.com/foo@" + digest},
		"signed": {
			image: "example.com/foo:v1", bundle: record.Bundle{Digest: digest, SignedBy: "acme (ImagePolicy acme)"},
			path: "example.com/foo:v1@" + digest, conditions: signed, now: "example.com/foo:v1",
		},
		"another tag": {
			image: "example.com/foo:v1", bundle: record.Bundle{Digest: digest}, path: "example.com/foo:v1@" + digest,
			now: "example.com/foo:v2", wantAnother: true,
		},
		"another digest": {
			image: "example.com/foo@" + digest, bundle: record.Bundle{Digest: digest}, path: "example.com/foo@" + digest,
			now: "example.com/foo@sha256:" + strings.Repeat("b", 64), wantAnother: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := choice("foo.v1", "")
			c.Bundle.Image, tt.bundle.Name = tt.image, c.Bundle.Name
			p := &proposal{choices: []resolve.Choice{c}, content: &record.Content{Bundles: []record.Bundle{tt.bundle}}}
			got := installplanstatus.Compute(installplanstatus.Inputs{Plan: plan(), Resolution: p.resolution(nil)}).BundleLookups
			if got[0].Path != tt.path {
				t.Errorf("%s\npath: got %s, want %s", tt.reason, got[0].Path, tt.path)
			}
			if diff := cmp.Diff(tt.conditions, got[0].Conditions); diff != "" {
				t.Errorf("conditions: -want +got\n%s", diff)
			}
			c.Bundle.Image = tt.now
			if another := anotherImage(&olm.InstallPlan{Status: olm.InstallPlanStatus{BundleLookups: got}}, []resolve.Choice{c}); another != tt.wantAnother {
				t.Errorf("another image: %t", another)
			}
		})
	}
}
