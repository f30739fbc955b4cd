package csv

import (
	"errors"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestGroups(t *testing.T) {
	group := func(name string) client.Object {
		return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"b", "a"}}}
	}
	for name, tc := range map[string]struct {
		there []client.Object
		want  string
	}{
		"None": {nil, "Failed/NoOperatorGroup: Namespace default has no OperatorGroup"},
		"One":  {[]client.Object{group("mine")}, ""},
		"Two":  {[]client.Object{group("b"), group("a")}, "Failed/TooManyOperatorGroups: Namespace default has 2 OperatorGroups"},
	} {
		t.Run(name, func(t *testing.T) {
			s := about(csv("v1"))
			s.group, s.targets = nil, nil
			verdict := verdictOf(t, reconciler(t, tc.there...), s, "OperatorGroup")
			if got := word(verdict); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got %s; want %s…", got, tc.want)
			}
			if verdict == nil && (s.group == nil || strings.Join(s.targets, ",") != "a,b") {
				t.Errorf("group %v, targets %v", s.group, s.targets)
			}
		})
	}
}

func TestInstallModes(t *testing.T) {
	const own, single, multi, all = olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeSingleNamespace, olm.InstallModeTypeMultiNamespace,
		olm.InstallModeTypeAllNamespaces
	unsupported := func(why string) string {
		return "Failed/UnsupportedOperatorGroup: The operator does not support OperatorGroup mine: " + why
	}
	cases := map[string]struct {
		reason    string
		supported []olm.InstallModeType
		targets   []string
		want      string
	}{
		"Own": {"Its own namespace.", []olm.InstallModeType{own}, []string{"default"}, ""},
		"NotOwn": {"Single is another than its own.", []olm.InstallModeType{single}, []string{"default"},
			unsupported("OwnNamespace InstallModeType not supported, cannot configure to watch own namespace")},
		"Single": {"One other namespace.", []olm.InstallModeType{single}, []string{"a"}, ""},
		"NotSingle": {"Own is not another.", []olm.InstallModeType{own}, []string{"a"},
			unsupported("SingleNamespace InstallModeType not supported, cannot configure to watch one namespace")},
		"Multi":        {"Several others.", []olm.InstallModeType{multi}, []string{"a", "b"}, ""},
		"MultiWithOwn": {"Several, its own among them, take both modes.", []olm.InstallModeType{multi, own}, []string{"a", "default"}, ""},
		"MultiWithoutOwn": {"Its own among several has to be supported.", []olm.InstallModeType{multi}, []string{"a", "default"},
			unsupported("OwnNamespace InstallModeType not supported, cannot configure to watch own namespace")},
		"NotMulti": {"Two are several.", []olm.InstallModeType{own, single, all}, []string{"a", "b"},
			unsupported("MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces")},
		"All": {"All.", []olm.InstallModeType{all}, []string{""}, ""},
		"NotAll": {"None but all will do for all.", []olm.InstallModeType{own, single, multi}, []string{""},
			unsupported("AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces")},
		"AllAndMore": {"All beside others makes no sense.", []olm.InstallModeType{own, single, multi, all}, []string{"", "a"},
			unsupported("operatorgroup has invalid selected namespaces, NamespaceAll found when |selected namespaces| > 1")},
		"NoModes": {"Who supports nothing cannot be installed.", nil, []string{"default"},
			unsupported("OwnNamespace InstallModeType not supported, cannot configure to watch own namespace")},
		"NoTargets": {"A group that selects none is at fault, not the operator.", []olm.InstallModeType{own}, nil,
			"Failed/NoTargetNamespaces: OperatorGroup mine selects no namespace: add labels that match its selector to a namespace"},
		"Twice": {"Two entries of one install mode may contradict each other.", []olm.InstallModeType{own, own}, []string{"default"},
			"Failed/InvalidInstallModes: Install mode OwnNamespace is listed twice"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := csv("v1")
			for _, m := range tc.supported {
				c.Spec.InstallModes = append(c.Spec.InstallModes, olm.InstallMode{Type: m, Supported: true})
			}
			s := about(c)
			s.targets = tc.targets
			verdict, err := installModes(s)
			if got := word(verdict); err != nil || got != tc.want {
				t.Errorf("%s\ngot  %s, %v\nwant %s", tc.reason, got, err, tc.want)
			}
		})
	}
	t.Run("NotSupported", func(t *testing.T) {
		c := csv("v1")
		c.Spec.InstallModes = []olm.InstallMode{{Type: own, Supported: false}}
		if verdict, _ := installModes(about(c)); verdict == nil || verdict.Reason != "UnsupportedOperatorGroup" {
			t.Errorf("A mode with supported: false is not supported: got %s", word(verdict))
		}
	})
}

func TestStrategy(t *testing.T) {
	needs := func(least string) option {
		return func(c *v1alpha1.ClusterServiceVersion) { c.Spec.MinKubeVersion = least }
	}
	named := func(name string) option {
		return func(c *v1alpha1.ClusterServiceVersion) { c.Spec.InstallStrategy.StrategyName = name }
	}
	tooOld := func(least, actual string) string {
		return "Pending/RequirementsNotMet: The operator requires Kubernetes " + least + " or later, but the cluster runs " + actual + ": upgrade the cluster"
	}
	cases := map[string]struct {
		reason string
		csv    *v1alpha1.ClusterServiceVersion
		server string
		want   string
	}{
		"Plain": {"Nothing is asked for.", csv("v1"), "v1.31.0", ""},
		"Unknown": {"A strategy that is not known is refused.", csv("v1", named("helm")), "v1.31.0",
			`Failed/InvalidInstallStrategy: Unknown install strategy "helm": it must be "deployment"`},
		"Nameless": {"A deployment needs a name.", csv("v1", deploying("")), "v1.31.0",
			"Failed/InvalidInstallStrategy: Deployment number 1 of the install strategy has no name"},
		"Exactly":    {"The least version is enough.", csv("v1", needs("1.31.0")), "v1.31.0", ""},
		"Newer":      {"So is a newer one; versions are no words.", csv("v1", needs("1.9.0")), "v1.31.0", ""},
		"Older":      {"An older one is not, and the message names both versions.", csv("v1", needs("1.32.0")), "v1.31.5", tooOld("1.32.0", "1.31.5")},
		"Short":      {"Authors write it short, or with a v.", csv("v1", needs("v1.32")), "v1.31.5", tooOld("1.32.0", "1.31.5")},
		"Vendor":     {"What a vendor appends counts for nothing.", csv("v1", needs("1.31.0")), "v1.31.0+k3s1", ""},
		"Prerelease": {"A pre-release has what the release has.", csv("v1", needs("1.31.0")), "v1.31.0-rc.1+abc", ""},
		"GKE":        {"And -gke.1 is none.", csv("v1", needs("1.31.2")), "v1.31.2-gke.1000", ""},
		"NoVersion": {"What is no version is the author's fault.", csv("v1", needs("latest")), "v1.31.0",
			`Failed/InvalidInstallStrategy: minKubeVersion "latest" is not a valid version: `},
		"ServerUnsaid": {"A server whose version is not known is not checked.", csv("v1", needs("1.31.0")), "unknown", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := about(tc.csv)
			s.kubernetes = tc.server
			verdict, err := strategy(s)
			if err != nil {
				t.Fatal(err)
			}
			got := word(verdict)
			if got != tc.want && (!strings.HasSuffix(tc.want, ": ") || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// kubernetes is a cluster with a version of Kubernetes.
type kubernetes struct {
	discovery.DiscoveryInterface
	version string
}

func (k *kubernetes) ServerVersion() (*version.Info, error) {
	return &version.Info{GitVersion: k.version}, nil
}

// TestClusterUpgraded verifies that an operator that requires a newer version of Kubernetes waits until the cluster has it.
func TestClusterUpgraded(t *testing.T) {
	cluster, r := &kubernetes{version: "v1.31.0"}, reconciler(t)
	if verdict := verdictOf(t, r, about(csv("v1")), "InstallStrategy"); verdict != nil { // without a cluster, the question would panic
		t.Errorf("An operator that requires no version does not ask for it: %s", word(verdict))
	}
	r.Discovery = cluster
	c := csv("v1")
	c.Spec.MinKubeVersion = "1.32.0"
	if verdict := verdictOf(t, r, about(c), "InstallStrategy"); verdict == nil || verdict.Phase != olm.CSVPhasePending || verdict.Again == 0 {
		t.Errorf("It checks again, since no event reports an upgrade: got %s, %+v", word(verdict), verdict)
	}
	cluster.version = "v1.32.0"
	if verdict := verdictOf(t, r, about(c), "InstallStrategy"); verdict != nil {
		t.Errorf("The upgraded cluster suffices: %s", word(verdict))
	}
}

// TestAbsentTargets verifies that target namespaces that do not exist, or that are being deleted, are found and named.
func TestAbsentTargets(t *testing.T) {
	now := metav1.Unix(2000, 0)
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", DeletionTimestamp: &now, Finalizers: []string{"example.com/holds"}}}
	group := targets("there", "gone", "ending")
	group.Namespace = "default"
	s := about(csv("v1"))
	r := reconciler(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "there"}}, ending, group)
	if verdict := verdictOf(t, r, s, "OperatorGroup"); verdict != nil {
		t.Fatalf("The others are used: %s", word(verdict))
	}
	v := &Verdict{Message: "Every deployment is available"}
	s.nameAbsent(v)
	want := "Every deployment is available. Target namespaces that do not exist or are being deleted: ending, gone. " +
		"Create them, or remove them from OperatorGroup theirs"
	if v.Message != want {
		t.Errorf("got  %s\nwant %s", v.Message, want)
	}
	if absent, err := r.absent(t.Context(), []string{""}); err != nil || absent != nil {
		t.Errorf("All namespaces are those that exist: %v, %v", absent, err)
	}
}

func TestFaulty(t *testing.T) {
	away := errors.New("away")
	if verdict, err := about(csv("v1")).installErrorVerdict(away); verdict != nil || !errors.Is(err, away) {
		t.Errorf("%s, %v: an error that is not the operator's fault is tried again", word(verdict), err)
	}
}
