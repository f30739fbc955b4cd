package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// badBundle is an invalid bundle, or an invalid package, in a valid catalog.
type badBundle struct {
	reason string

	// corrupt makes the bundle invalid in the catalog's contents.
	corrupt func(t *testing.T, in setting, config *declcfg.DeclarativeConfig)

	kind  v1alpha1.SubscriptionConditionType
	want  string
	words []string

	// Whether the CatalogSource reports the problem too.
	invalid bool
}

// TestBadBundle verifies that a problem with a bundle is reported on the Subscription, that other packages in the
// catalog are not affected, and that a corrected catalog is installed.
func TestBadBundle(t *testing.T) {
	checkBadBundles(t, map[string]badBundle{
		"noobject": {
			reason:  "The inlined manifest is YAML but not a Kubernetes object.",
			corrupt: withInlinedObject("just some words"),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"olm.bundle.object", "no object"},
		},
		"notyaml": {
			reason:  "The inlined manifest is not valid YAML.",
			corrupt: withInlinedObject("a: b: c"),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"olm.bundle.object", "not YAML"},
		},
		"nobase64": {
			reason: "The inlined manifest is not valid base64.",
			corrupt: func(_ *testing.T, in setting, config *declcfg.DeclarativeConfig) {
				addProperty(config, in.name, property.Property{Type: property.TypeBundleObject, Value: []byte(`{"data":"%"}`)})
			},
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"olm.bundle.object", "base64"},
		},
		"circle": {
			reason: "Two versions replace each other, so neither is the newest.",
			corrupt: func(_ *testing.T, in setting, config *declcfg.DeclarativeConfig) {
				for i := range config.Channels {
					if c := &config.Channels[i]; c.Package == in.name {
						c.Entries[0].Replaces = c.Entries[1].Name
					}
				}
			},
			kind: v1alpha1.SubscriptionPackageChannelInvalid, want: v1alpha1.ReasonPackageInvalid,
			words:   []string{"replacement cycle", "circle-operator.v1.0.0", "circle-operator.v1.1.0"},
			invalid: true,
		},
	})
}

// TestBadBundleImage verifies the same for problems with the image of a bundle.
func TestBadBundleImage(t *testing.T) {
	checkBadBundles(t, map[string]badBundle{
		"none": {
			reason: "The image does not exist in the registry.",
			corrupt: func(_ *testing.T, in setting, config *declcfg.DeclarativeConfig) {
				setBundleImage(config, in.name, in.registry.host+"/none")
			},
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonImagePullFailed, words: []string{"/none", "404 Not Found (NAME_UNKNOWN)"},
		},
		"muteimage": {
			reason: "The registry accepts the connection and never responds.",
			corrupt: func(t *testing.T, in setting, config *declcfg.DeclarativeConfig) {
				at, _ := unresponsiveServer(t)
				setBundleImage(config, in.name, at+"/bundle")
			},
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonImagePullFailed, words: []string{"/bundle", "does not answer"},
		},
		"nobundle": {
			reason:  "The image is not a bundle.",
			corrupt: withBundleImage(nil, testcatalog.Files("bin/sh", "x")...),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"/nobundle", "is not a bundle"},
		},
		"claiming": {
			reason: "The image manifest claims a size of 10 GB.",
			corrupt: func(t *testing.T, in setting, config *declcfg.DeclarativeConfig) {
				huge, err := testcatalog.Oversized(10 << 30)
				if err != nil {
					t.Fatal(err)
				}
				setBundleImage(config, in.name, in.registry.pushManifest(t, in.name, huge))
			},
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonTooLarge, words: []string{"/claiming", "10GiB"},
		},
		"growing": {
			reason:  "A layer of 3 MB unpacks to 3 GB.",
			corrupt: withBundleImage(testcatalog.BundleLabels, testcatalog.Entry{Name: "manifests/a.yaml", Zeros: 3 << 10}),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonTooLarge, words: []string{"/growing", "10MiB"},
		},
		"crowded": {
			reason: "A manifest of 8 MB contains two million values.",
			corrupt: withBundleImage(testcatalog.BundleLabels,
				testcatalog.Files("manifests/a.yaml", "apiVersion: v1\nkind: A\nvalues:\n"+strings.Repeat("- a\n", 2<<20))...),
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
		"repeating": {
			reason: "The aliases of a manifest expand to 20 GB.",
			corrupt: withBundleImage(testcatalog.BundleLabels, testcatalog.Files("manifests/a.yaml",
				"apiVersion: v1\nkind: A\na: &a "+strings.Repeat("x", 1<<20)+"\nvalues: ["+strings.Repeat("*a,", 20000)+"]\n")...),
			kind: v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
		"outside": {
			reason:  "An entry of the image points outside its archive.",
			corrupt: withBundleImage(testcatalog.BundleLabels, testcatalog.Files("manifests/../../../../tmp/x.yaml", "x")...),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"/outside", "points outside"},
		},
		"linked": {
			reason:  "A manifest is a link to a file on the host.",
			corrupt: withBundleImage(testcatalog.BundleLabels, testcatalog.Entry{Name: "manifests/a.yaml", Link: "/etc/passwd"}),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"manifests/a.yaml", "link"},
		},
		"unreadable": {
			reason:  "A manifest is not valid YAML.",
			corrupt: withBundleImage(testcatalog.BundleLabels, testcatalog.Files("manifests/a.yaml", "a: b: c")...),
			kind:    v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"manifests/a.yaml", "not YAML"},
		},
	})
}

// checkBadBundles serves each bad bundle beside a good one, subscribes to both, and then serves the corrected bundle.
func checkBadBundles(t *testing.T, cases map[string]badBundle) {
	t.Helper()
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	images := newRegistry(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			near := testcatalog.Foo{Name: "near" + name, Version: "1.0.0"}
			first, second := testcatalog.Foo{Name: name, Version: "1.0.0"}, testcatalog.Foo{Name: name, Version: "1.1.0"}
			in := setting{registry: images, name: name, good: publish(t, first, second)}
			in.stage = newStage(t, "badbundle-"+name)
			in.offerCorrupted(t, publish(t, near), tc)
			before := manager.PeakMemory(t)
			sub := in.subscribe(t, name)
			neighbour := in.subscribe(t, near.Name)

			in.awaitTrue(t, sub, tc.kind, tc.want, tc.words...)
			if sub.Status.Message == "" || sub.Status.UpToDate {
				t.Errorf("%s: message %q, UpToDate %v", tc.reason, sub.Status.Message, sub.Status.UpToDate)
			}
			in.awaitInstalled(t, neighbour, near.CSV())
			in.checkAbsent(t, in.csv(second.CSV()))
			t.Logf("%s\npeak memory of the manager: %d MiB before, %d MiB after", sub.Status.Message, before>>20, manager.PeakMemory(t)>>20)

			in.offer(t, in.good, publish(t, near))
			in.awaitInstalled(t, sub, second.CSV())
			in.awaitInstalled(t, neighbour, near.CSV())
		})
	}
	if peak := manager.PeakMemoryOfOne(t) >> 20; peak > memoryLimit {
		t.Errorf("the manager used %d MiB of memory, more than the limit of its pod, %d MiB", peak, memoryLimit)
	}
	manager.CheckAlive(t)
}

// offerCorrupted replaces the stage's catalog with a corrupted one and waits until it is read.
func (in setting) offerCorrupted(t *testing.T, near testcatalog.Package, tc badBundle) {
	t.Helper()
	config, err := testcatalog.Config(in.good, near)
	if err != nil {
		t.Fatal(err)
	}
	tc.corrupt(t, in, &config)
	in.offerConfig(t, config)
	reason := v1alpha1.ReasonCatalogRead
	if tc.invalid {
		reason = v1alpha1.ReasonPackagesInvalid
	}
	in.awaitHealth(t, in.catalogSource(), "True", reason)
}

// withInlinedObject returns a corrupt function that adds text as an inlined object of the newest bundle.
func withInlinedObject(text string) func(*testing.T, setting, *declcfg.DeclarativeConfig) {
	return func(_ *testing.T, in setting, config *declcfg.DeclarativeConfig) {
		addProperty(config, in.name, property.MustBuildBundleObject([]byte(text)))
	}
}

// addProperty adds a property to the newest bundle of a package.
func addProperty(config *declcfg.DeclarativeConfig, pkg string, p property.Property) {
	b := newest(config, pkg)
	b.Properties = append(b.Properties, p)
}

// withBundleImage returns a corrupt function that moves the newest bundle to an image with the given labels and entries.
func withBundleImage(labels map[string]string, entries ...testcatalog.Entry) func(*testing.T, setting, *declcfg.DeclarativeConfig) {
	return func(t *testing.T, in setting, config *declcfg.DeclarativeConfig) {
		t.Helper()
		setBundleImage(config, in.name, in.registry.push(t, in.name, imageWithLabels(t, labels, entries)))
	}
}

// setBundleImage makes the newest bundle refer to an image instead of inlining its objects.
func setBundleImage(config *declcfg.DeclarativeConfig, pkg, image string) {
	only := declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{*newest(config, pkg)}}
	testcatalog.Refer(&only, func(string) string { return image })
	*newest(config, pkg) = only.Bundles[0]
}

// newest returns the last bundle of a package, or nil.
func newest(config *declcfg.DeclarativeConfig, pkg string) (out *declcfg.Bundle) {
	for i := range config.Bundles {
		if config.Bundles[i].Package == pkg {
			out = &config.Bundles[i]
		}
	}
	return out
}

// TestUnresponsiveRegistry verifies that many operators whose registry never responds do not delay others.
func TestUnresponsiveRegistry(t *testing.T) {
	const many = 12
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	at, _ := unresponsiveServer(t)
	near := testcatalog.Foo{Name: "patient", Version: "1.0.0"}
	packages := []testcatalog.Package{publish(t, near)}
	for i := range many {
		packages = append(packages, publish(t, testcatalog.Foo{Name: fmt.Sprintf("mute%d", i), Version: "1.0.0"}))
	}
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages[1:] {
		setBundleImage(&config, p.Name, at+"/"+p.Name)
	}
	s := newStage(t, "mute")
	s.offerConfig(t, config)
	var mute []*v1alpha1.Subscription
	for _, p := range packages[1:] {
		mute = append(mute, s.subscribe(t, p.Name))
	}
	for _, sub := range mute {
		s.await(t, sub, func() string {
			if sub.Status.InstallPlanRef == nil {
				return "it has no InstallPlan yet"
			}
			return ""
		})
	}
	neighbour := s.subscribe(t, near.Name)
	s.awaitInstalled(t, neighbour, near.CSV())
	for _, sub := range mute {
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(sub), sub); err != nil {
			t.Fatal(err)
		}
		if c := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed); c.Status == corev1.ConditionTrue {
			t.Errorf("the other Subscription was installed only after the pull from the registry timed out: %s", c.Message)
		}
	}
	s.awaitTrue(t, mute[many-1], v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonImagePullFailed, "does not answer")
	manager.CheckAlive(t)
}
