package catalogsource

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

func TestCompute(t *testing.T) {
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := then.Add(time.Hour)
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{
			Type: v1alpha1.ConditionHealthy, Status: status, Reason: reason, Message: message,
			ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now),
		}}
	}
	templated := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		resolved, image := condition(status, reason, message)[0], condition(status, reason, "example.com/catalog:v1")[0]
		resolved.Type, image.Type = v1alpha1.ConditionTemplatesHaveResolved, v1alpha1.ConditionResolvedImage
		return []metav1.Condition{resolved, image}
	}
	grpc := olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Address: "example.com:50051"}
	image := olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: "example.com/catalog:v1"}
	polled := image
	polled.UpdateStrategy = &olm.UpdateStrategy{RegistryPoll: &olm.RegistryPoll{Interval: &metav1.Duration{Duration: time.Minute},
		ParsingError: "that is no interval"}}
	one := &catalog.Content{Packages: map[string]*catalog.Package{"foo": {}}}
	away := catalog.AsError(catalog.Errorf(v1alpha1.ReasonUnreachable, "it is away"), "")
	configMap := olm.CatalogSourceSpec{SourceType: olm.SourceTypeInternal, ConfigMap: "foo"}
	version := func(resourceVersion string, at metav1.Time) *olm.ConfigMapResourceReference {
		return &olm.ConfigMapResourceReference{Name: "foo", UID: "1", ResourceVersion: resourceVersion, LastUpdateTime: at}
	}
	tests := map[string]struct {
		reason string
		spec   olm.CatalogSourceSpec
		before olm.CatalogSourceStatus
		in     Inputs
		want   olm.CatalogSourceStatus
	}{
		"first": {
			reason: "Before the first try the status is Connecting.",
			spec:   grpc,
			want: olm.CatalogSourceStatus{
				Conditions:          condition(metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "Reading the registry at example.com:50051 for the first time"),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "example.com:50051", LastObservedState: "CONNECTING"},
			},
		},
		"template": {
			reason: "The image of the template is reported in a condition, since the spec is not changed.",
			spec:   image,
			in:     Inputs{Template: &Template{Image: "example.com/catalog:v1"}},
			want: olm.CatalogSourceStatus{
				Conditions: append(templated(metav1.ConditionTrue, v1alpha1.ReasonAllTemplatesResolved, "catalog image reference was successfully resolved"),
					condition(metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "Reading image example.com/catalog:v1 for the first time")...),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "example.com/catalog:v1", LastObservedState: "CONNECTING"},
			},
		},
		"template that does not resolve": {
			reason: "If the template cannot be resolved, the image of the spec is read.",
			spec:   image,
			in:     Inputs{Template: &Template{Image: "example.com/catalog:v1", Problem: "it has no version"}},
			want: olm.CatalogSourceStatus{
				Conditions: append(templated(metav1.ConditionFalse, v1alpha1.ReasonUnableToResolve, "it has no version"),
					condition(metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "Reading image example.com/catalog:v1 for the first time")...),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "example.com/catalog:v1", LastObservedState: "CONNECTING"},
			},
		},
		"read": {
			reason: "An error of the previous try is removed from the deprecated fields.",
			spec:   grpc,
			before: olm.CatalogSourceStatus{Message: "old", Reason: olm.CatalogSourceRegistryServerError},
			in:     Inputs{Tried: then, Content: one},
			want: olm.CatalogSourceStatus{
				Conditions:          condition(metav1.ConditionTrue, v1alpha1.ReasonCatalogRead, "Read 1 package from the registry at example.com:50051"),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "example.com:50051", LastObservedState: "READY", LastConnectTime: metav1.NewTime(then)},
			},
		},
		"some packages are invalid": {
			reason: "Invalid packages are listed up to a limit, and the catalog is healthy.",
			spec:   image,
			in: Inputs{Tried: then, From: "sha256:1", Content: &catalog.Content{Packages: map[string]*catalog.Package{"a": {}, "b": {}}, Invalid: map[string]string{
				"p1": "bad", "p2": "bad", "p3": "bad", "p4": "bad", "p5": strings.Repeat("x", 300), "p6": "bad", "p7": "bad",
			}}},
			want: olm.CatalogSourceStatus{
				Conditions: condition(metav1.ConditionTrue, v1alpha1.ReasonPackagesInvalid,
					"Read 2 packages from image example.com/catalog:v1 at sha256:1; skipped 7 packages that cannot be used: p1 (bad), p2 (bad), p3 (bad), p4 (bad), p5 ("+
						strings.Repeat("x", 197)+"…), and 2 more"),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "example.com/catalog:v1", LastObservedState: "READY", LastConnectTime: metav1.NewTime(then)},
			},
		},
		"away": {
			reason: "While the registry is unreachable the content in use and the last connection are reported.",
			spec:   image,
			before: olm.CatalogSourceStatus{GRPCConnectionState: &olm.GRPCConnectionState{
				Address: "example.com/catalog:v1", LastObservedState: "READY", LastConnectTime: metav1.NewTime(then),
			}},
			in: Inputs{Tried: now, Err: away, From: "sha256:1", Content: one},
			want: olm.CatalogSourceStatus{
				Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonUnreachable, "it is away; the content read at sha256:1 stays in use"),
				Message:    "it is away; the content read at sha256:1 stays in use",
				Reason:     olm.CatalogSourceRegistryServerError,
				GRPCConnectionState: &olm.GRPCConnectionState{
					Address: "example.com/catalog:v1", LastObservedState: "TRANSIENT_FAILURE", LastConnectTime: metav1.NewTime(then),
				},
			},
		},
		"polled": {
			reason: "The time of the poll and an invalid interval are reported.",
			spec:   polled,
			in:     Inputs{Tried: then, From: "sha256:1", Content: one},
			want: olm.CatalogSourceStatus{
				Conditions: condition(metav1.ConditionTrue, v1alpha1.ReasonCatalogRead,
					"Read 1 package from image example.com/catalog:v1 at sha256:1; that is no interval"),
				Message: "that is no interval", Reason: olm.CatalogSourceIntervalInvalidError,
				LatestImageRegistryPoll: new(metav1.NewTime(then)),
				GRPCConnectionState:     &olm.GRPCConnectionState{Address: "example.com/catalog:v1", LastObservedState: "READY", LastConnectTime: metav1.NewTime(then)},
			},
		},
		"ConfigMap": {
			reason: "The time of the connection is after that of the ConfigMap, though times have whole seconds.",
			spec:   configMap,
			in:     Inputs{Tried: now, From: "resourceVersion 1", Content: one, ConfigMap: version("1", metav1.Time{})},
			want: olm.CatalogSourceStatus{
				Conditions:        condition(metav1.ConditionTrue, v1alpha1.ReasonCatalogRead, "Read 1 package from ConfigMap /foo at resourceVersion 1"),
				ConfigMapResource: version("1", metav1.NewTime(now)),
				GRPCConnectionState: &olm.GRPCConnectionState{
					Address: "/foo", LastObservedState: "READY", LastConnectTime: metav1.NewTime(now.Add(time.Second)),
				},
			},
		},
		"ConfigMap changed at once": {
			reason: "A change of the ConfigMap within the same second gets a later time.",
			spec:   configMap,
			before: olm.CatalogSourceStatus{
				ConfigMapResource:   version("1", metav1.NewTime(now)),
				GRPCConnectionState: &olm.GRPCConnectionState{Address: "/foo", LastObservedState: "READY", LastConnectTime: metav1.NewTime(now.Add(time.Second))},
			},
			in: Inputs{Tried: now, From: "resourceVersion 2", Content: one, ConfigMap: version("2", metav1.Time{})},
			want: olm.CatalogSourceStatus{
				Conditions:        condition(metav1.ConditionTrue, v1alpha1.ReasonCatalogRead, "Read 1 package from ConfigMap /foo at resourceVersion 2"),
				ConfigMapResource: version("2", metav1.NewTime(now.Add(time.Second))),
				GRPCConnectionState: &olm.GRPCConnectionState{
					Address: "/foo", LastObservedState: "READY", LastConnectTime: metav1.NewTime(now.Add(2 * time.Second)),
				},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.in.CatalogSource = &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: tc.spec, Status: tc.before}
			tc.in.Source = Source{Image: tc.spec.Image, Address: tc.spec.Address}
			if tc.spec.ConfigMap != "" {
				tc.in.Source.ConfigMap.Name = tc.spec.ConfigMap
			}
			tc.in.Now = now
			got := Compute(tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			tc.in.CatalogSource.Status = got
			tc.in.Now = now.Add(time.Hour)
			if diff := cmp.Diff(got, Compute(tc.in)); diff != "" {
				t.Errorf("the status of the same inputs differs later\n-first +second\n%s", diff)
			}
		})
	}
}
