package isolation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	rbacv1apply "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Mode is the subcommand of the manager's binary that reads for one Probe.
const Mode = "read-probe"

// Label on all objects that run a reader. Its value is their common name.
const Label = "operatorstatus.io/probe-reader"

// annotationReader on a pod has the identity of the reader: of its plan, image and account.
const annotationReader = "operatorstatus.io/reader"

// MaxPlan is the size of a plan in bytes. Linux limits an argument of a program to 128 KiB.
const MaxPlan = 100 << 10

// Name returns the name of the objects that run the reader of a Probe. It is valid for a pod whatever the length of the
// Probe's name, and readable if that is short.
func Name(probe *v1alpha1.Probe) string {
	const readable = 28
	prefix := probe.Name
	if len(prefix) > readable {
		prefix = prefix[:readable]
	}
	prefix = strings.Trim(strings.ReplaceAll(prefix, ".", "-"), "-")
	return fmt.Sprintf("probe-%s-%s", prefix, digest(probe.Name))
}

// Pod holds the inputs of a reader's pod.
type Pod struct {
	Probe   *v1alpha1.Probe
	Account string // the name of the operator's service account
	Image   string // of the manager
	Plan    string // resources, expressions and namespaces, for the flag --plan
}

// Identity returns the identity of the reader. It changes with everything that the pod depends on, so a status shows
// which reader wrote it.
func (p Pod) Identity() string {
	return Name(p.Probe) + "/" + digest(strings.Join([]string{p.Account, p.Image, p.Plan, string(p.Probe.UID)}, "\x00"))
}

func digest(text string) string {
	const length = 10
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:length]
}

// Objects returns the objects that run the reader, in the order in which to apply them.
func (p Pod) Objects() []runtime.ApplyConfiguration {
	return []runtime.ApplyConfiguration{p.role(), p.roleBinding(), p.deployment()}
}

func (p Pod) role() *rbacv1apply.RoleApplyConfiguration {
	return rbacv1apply.Role(Name(p.Probe), p.Probe.Namespace).
		WithLabels(p.labels()).
		WithOwnerReferences(p.owner()).
		WithRules(rbacv1apply.PolicyRule().
			WithAPIGroups(v1alpha1.GroupVersion.Group).WithResources("probes/status").
			WithResourceNames(p.Probe.Name).WithVerbs("get", "update"))
}

func (p Pod) roleBinding() *rbacv1apply.RoleBindingApplyConfiguration {
	return rbacv1apply.RoleBinding(Name(p.Probe), p.Probe.Namespace).
		WithLabels(p.labels()).
		WithOwnerReferences(p.owner()).
		WithRoleRef(rbacv1apply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(Name(p.Probe))).
		WithSubjects(rbacv1apply.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(p.Probe.Namespace).WithName(p.Account))
}

// deployment returns a Deployment that never runs two pods: a pod of an old template must not overwrite the report of the
// new one.
func (p Pod) deployment() *appsv1apply.DeploymentApplyConfiguration {
	return appsv1apply.Deployment(Name(p.Probe), p.Probe.Namespace).
		WithLabels(p.labels()).
		WithOwnerReferences(p.owner()).
		WithSpec(appsv1apply.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(1).
			WithProgressDeadlineSeconds(120).
			WithStrategy(appsv1apply.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1apply.LabelSelector().WithMatchLabels(map[string]string{Label: Name(p.Probe)})).
			WithTemplate(corev1apply.PodTemplateSpec().
				WithLabels(p.labels()).
				WithAnnotations(map[string]string{annotationReader: p.Identity()}).
				WithSpec(corev1apply.PodSpec().
					WithServiceAccountName(p.Account).
					WithAutomountServiceAccountToken(true).
					WithEnableServiceLinks(false).
					WithTerminationGracePeriodSeconds(5).
					WithSecurityContext(corev1apply.PodSecurityContext().
						WithRunAsNonRoot(true).
						WithSeccompProfile(corev1apply.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithContainers(p.container()))))
}

// container returns the container, whose readiness is checked often: a gate relies on it.
func (p Pod) container() *corev1apply.ContainerApplyConfiguration {
	const port = 8081
	get := func(path string) *corev1apply.HTTPGetActionApplyConfiguration {
		return corev1apply.HTTPGetAction().WithPath(path).WithPort(intstr.FromInt32(port))
	}
	return corev1apply.Container().
		WithName("reader").
		WithImage(p.Image).
		WithCommand("/manager").
		WithArgs(Mode, "--identity="+p.Identity(), "--plan="+p.Plan, fmt.Sprintf("--health-probe-bind-address=:%d", port)).
		WithEnv(corev1apply.EnvVar().WithName("MEMORY_LIMIT").WithValueFrom(corev1apply.EnvVarSource().
			WithResourceFieldRef(corev1apply.ResourceFieldSelector().WithResource("limits.memory")))).
		WithReadinessProbe(corev1apply.Probe().WithHTTPGet(get("/readyz")).WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(1)).
		WithLivenessProbe(corev1apply.Probe().WithHTTPGet(get("/healthz")).WithInitialDelaySeconds(15).WithPeriodSeconds(10).WithTimeoutSeconds(5)).
		WithResources(corev1apply.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("24Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")})).
		WithSecurityContext(corev1apply.SecurityContext().
			WithReadOnlyRootFilesystem(true).
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1apply.Capabilities().WithDrop("ALL")))
}

func (p Pod) labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "operator-status",
		"app.kubernetes.io/component":  "probe-reader",
		"app.kubernetes.io/managed-by": "operator-status",
		Label:                          Name(p.Probe),
	}
}

// owner returns a reference that does not block the deletion of the Probe, which would take another permission.
func (p Pod) owner() *metav1apply.OwnerReferenceApplyConfiguration {
	return metav1apply.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.ProbeKind).
		WithName(p.Probe.Name).WithUID(p.Probe.UID).WithController(true)
}
