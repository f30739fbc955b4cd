package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/archive"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/operator"
)

func gatherCommand(o *options) *cobra.Command {
	var file string
	var lines int64
	cmd := &cobra.Command{
		Use:   "gather",
		Short: "Write the objects and logs of the operators of a cluster to an archive",
		Long: `Write the objects of OLM and operator-status, the workloads of operators with their pods, roles and their bindings, events, the statuses
of the objects by which Flux, Argo CD and OLM v1 install operators, and the logs of OLM, operator-status, the catalogs, and of operators that are
not ready, to an archive. All other commands that only read work on it, with --from.

The values of environment variables and apparent credentials are removed. Secrets and custom resources are not read.
Objects that you may not read are left out, with a warning.`,
		Example: `  # Archive all namespaces, and read from it what blocks foo
  kubectl operator-status gather --output=cluster.tar.gz
  kubectl operator-status why foo --from=cluster.tar.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			if file == "" {
				file = "operator-status-" + now.UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			return o.gather(cmd.Context(), file, lines, now)
		},
	}
	cmd.Flags().StringVar(&file, "output", "", "File to write. The default name contains the time.")
	cmd.Flags().Int64Var(&lines, "tail", 5000, "Number of lines of each log to write.")
	return cmd
}

// gathered are the kinds that gather reads, with the label selector of each. With a namespace it reads everywhere those that have none, and
// those that operators of any namespace refer to.
var gathered = []struct {
	schema.GroupVersionResource
	labels     string
	everywhere bool
}{
	{v1alpha1.GroupVersion.WithResource("subscriptions"), "", false},
	{v1alpha1.GroupVersion.WithResource("clusterserviceversions"), olmv0.NotCopied, false},
	{v1alpha1.GroupVersion.WithResource("installplans"), "", false},
	{v1alpha1.GroupVersion.WithResource("catalogsources"), "", true},
	{v1alpha1.GroupVersion.WithResource("probes"), "", false},
	{operatorsv1.GroupVersion.WithResource("operatorgroups"), "", false},
	{operatorsv1.GroupVersion.WithResource("operators"), "", true},
	{operatorsv2.GroupVersion.WithResource("operatorconditions"), olmv0.NotCopied, false},
	{platformv1alpha1.GroupVersion.WithResource("platformoperators"), "", true},
	{policyv1alpha1.GroupVersion.WithResource("imagepolicies"), "", true},
	{configv1.GroupVersion.WithResource("clusteroperators"), "", true},
	{configv1.GroupVersion.WithResource("clusterversions"), "", true},
	{appsv1.SchemeGroupVersion.WithResource("deployments"), "", false},
	{appsv1.SchemeGroupVersion.WithResource("statefulsets"), "", false},
	{appsv1.SchemeGroupVersion.WithResource("daemonsets"), "", false},
	{appsv1.SchemeGroupVersion.WithResource("replicasets"), "", false}, // after those that they belong to
	{corev1.SchemeGroupVersion.WithResource("pods"), "", false},
	{rbacv1.SchemeGroupVersion.WithResource("roles"), "", false},
	{rbacv1.SchemeGroupVersion.WithResource("rolebindings"), "", false},
	{rbacv1.SchemeGroupVersion.WithResource("clusterroles"), "", true},
	{rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), "", true},
	{apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", true},
	{holdv1alpha1.GroupVersion.WithResource("upgradeholds"), "", true},
	{holdv1alpha1.GroupVersion.WithResource("upgradeholdpolicies"), "", true},
	{holdv1alpha1.GroupVersion.WithResource("probepolicies"), "", true},
	{corev1.SchemeGroupVersion.WithResource("configmaps"), holdv1alpha1.LabelDenies, true},
}

// ours is the label selector of the Deployments and pods of operator-status.
const ours = "app.kubernetes.io/name=operator-status"

// logged are the label selectors of the pods whose logs gather reads: those of operator-status, of OLM, and of catalogs.
var logged = []string{ours, "app in (olm-operator,catalog-operator)", "olm.catalogSource"}

// gatherer reads a cluster into an archive.
type gatherer struct {
	*options

	namespace string // empty for all
	objects   dynamic.Interface
	pods      kubernetes.Interface
	to        *archive.Writer
	unready   []corev1.Pod   // of operators
	notes     []string       // about objects and logs that could not be read
	counts    map[string]int // of objects and logs that were read
}

// gather writes an archive to a new file, and removes the file if that fails.
func (o *options) gather(ctx context.Context, name string, lines int64, now time.Time) (err error) {
	if len(o.from) > 0 {
		return errors.New("gather reads a cluster and does not accept --from")
	}
	config, err := o.flags.ToRESTConfig()
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, userAgent
	g := gatherer{options: o, counts: map[string]int{}}
	if *o.flags.Namespace != "" {
		g.namespace = *o.flags.Namespace
	}
	if g.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if g.pods, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // only for the user
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(name) // it is not complete
		}
	}()
	folder := strings.TrimSuffix(filepath.Base(name), ".tar.gz")
	if g.to, err = archive.NewWriter(file, folder, now); err != nil {
		return err
	}
	if err := g.read(ctx, lines); err != nil {
		return err
	}
	if err := g.to.Close(); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s written: %s\n", name, g.summary())
	fmt.Fprintln(o.ErrOut, "Credentials in known fields, flags and formats are replaced by REDACTED. Other texts, such as messages and logs, "+
		"are unchanged: review them before you share the archive.")
	return nil
}

// read reads everything into the archive.
func (g *gatherer) read(ctx context.Context, lines int64) error {
	parts, err := g.parts(ctx)
	if err != nil {
		return err
	}
	for _, kind := range gathered {
		namespace := g.namespace
		if kind.everywhere {
			namespace = ""
		}
		if err := g.list(ctx, kind.GroupVersionResource, namespace, kind.labels, parts); err != nil {
			return err
		}
	}
	if err := g.reports(ctx); err != nil {
		return err
	}
	kinds := sets.New("Subscription", "ClusterServiceVersion", "InstallPlan", "CatalogSource", "Probe", "OperatorGroup",
		"OperatorCondition", "PlatformOperator", "ImagePolicy", "ClusterOperator", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod")
	if err := g.list(ctx, corev1.SchemeGroupVersion.WithResource("events"), g.namespace, "", func(event *unstructured.Unstructured) bool {
		kind, _, _ := unstructured.NestedString(event.Object, "involvedObject", "kind")
		return kinds.Has(kind)
	}); err != nil {
		return err
	}
	for i := range g.unready {
		if err := g.logsOf(ctx, &g.unready[i], lines); err != nil {
			return err
		}
	}
	for _, selector := range logged {
		if err := g.logs(ctx, selector, lines); err != nil {
			return err
		}
	}
	slices.Sort(g.notes)
	for _, note := range g.notes {
		fmt.Fprintf(g.ErrOut, "Warning: %s: not in the archive\n", note)
	}
	return g.to.File(archive.Notes, []byte(strings.Join(append(g.notes, ""), "\n")))
}

// parts returns a function that reports whether an object is a part of an operator. Of CustomResourceDefinitions it leaves the metadata.
func (g *gatherer) parts(ctx context.Context) (func(*unstructured.Unstructured) bool, error) {
	c, err := g.client()
	if err != nil {
		return nil, err
	}
	cluster, err := readAll(ctx, c, controllers.Kinds(), g.namespace)
	if err != nil {
		return nil, err
	}
	parts := sets.New[string]()
	for _, w := range controllers.In(cluster) {
		parts.Insert(w.String())
	}
	return func(o *unstructured.Unstructured) bool {
		ref := operator.Ref{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
		switch ref.Kind {
		case "Deployment", "StatefulSet", "DaemonSet":
			if o.GetLabels()["olm.owner"] != "" {
				parts.Insert(ref.String())
			}
			return parts.Has(ref.String())
		case "ReplicaSet", "Pod":
			owner := metav1.GetControllerOfNoCopy(o)
			if owner == nil || !parts.Has(operator.Ref{Kind: owner.Kind, Namespace: ref.Namespace, Name: owner.Name}.String()) {
				return false
			}
			parts.Insert(ref.String())
			g.noteUnready(o)
		case "CustomResourceDefinition":
			delete(o.Object, "spec")
			delete(o.Object, "status")
		}
		return true
	}, nil
}

// noteUnready remembers a pod whose logs tell why it is not ready.
func (g *gatherer) noteUnready(o *unstructured.Unstructured) {
	pod := corev1.Pod{}
	if o.GetKind() != "Pod" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod) != nil {
		return // it is written as it is
	}
	if slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready }) {
		g.unready = append(g.unready, pod)
	}
}

// list writes the objects of a kind that are wanted, or all if wanted is nil.
func (g *gatherer) list(ctx context.Context, resource schema.GroupVersionResource, namespace, labels string,
	wanted func(*unstructured.Unstructured) bool) error {
	options := metav1.ListOptions{LabelSelector: labels, Limit: page}
	for {
		list, err := g.objects.Resource(resource).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil // it is not installed
		}
		if apierrors.IsForbidden(err) {
			g.notes = append(g.notes, archive.Unread+resource.GroupResource().String())
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range list.Items {
			if wanted != nil && !wanted(&list.Items[i]) {
				continue
			}
			if err := g.to.Object(&list.Items[i], resource.Resource); err != nil {
				return err
			}
			g.counts[resource.Resource]++
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// reports writes the objects in which programs report on the operators that they install, without the rest: their specs may have credentials.
func (g *gatherer) reports(ctx context.Context) error {
	c, err := g.client()
	if err != nil {
		return err
	}
	for _, kind := range controllers.ReportKinds() {
		resource, _ := meta.UnsafeGuessKindToResource(kind.GroupVersionKind)
		found, err := readKind(ctx, c, kind, g.namespace)
		switch {
		case apierrors.IsNotFound(err):
			continue // it is not installed
		case apierrors.IsForbidden(err):
			g.notes = append(g.notes, archive.Unread+resource.GroupResource().String())
			continue
		case err != nil:
			return fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for _, object := range found.Objects {
			o, err := asUnstructured(object)
			if err != nil {
				return fmt.Errorf("converting %s %s: %w", kind.Kind, object.GetName(), err)
			}
			o.SetGroupVersionKind(kind.GroupVersionKind)
			if err := g.to.Object(o, resource.Resource); err != nil {
				return err
			}
			g.counts[resource.Resource]++
		}
	}
	return nil
}

func asUnstructured(object installer.Object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, json.Unmarshal(text, &out.Object)
}

// logs writes the logs of the pods with some labels.
func (g *gatherer) logs(ctx context.Context, labels string, lines int64) error {
	pods, err := g.pods.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: labels})
	if apierrors.IsForbidden(err) {
		g.notes = append(g.notes, "you may not list pods")
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the pods with labels %s: %w", labels, err)
	}
	for i := range pods.Items {
		if err := g.logsOf(ctx, &pods.Items[i], lines); err != nil {
			return err
		}
	}
	return nil
}

// logsOf writes the logs of a pod's containers, and of those that ran before them.
func (g *gatherer) logsOf(ctx context.Context, pod *corev1.Pod, lines int64) error {
	restarted := map[string]bool{}
	for _, s := range pod.Status.ContainerStatuses {
		restarted[s.Name] = s.RestartCount > 0
	}
	for _, container := range pod.Spec.Containers {
		err := g.log(ctx, pod, container.Name, container.Name, corev1.PodLogOptions{Container: container.Name, TailLines: &lines})
		if err == nil && restarted[container.Name] {
			options := corev1.PodLogOptions{Container: container.Name, TailLines: &lines, Previous: true}
			err = g.log(ctx, pod, container.Name, container.Name+".previous", options)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// log writes the log of a container to a file, or notes why it cannot be read.
func (g *gatherer) log(ctx context.Context, pod *corev1.Pod, container, file string, options corev1.PodLogOptions) error {
	text, err := g.pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &options).DoRaw(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		g.notes = append(g.notes, fmt.Sprintf("the log of container %s of pod %s/%s cannot be read: %v", container, pod.Namespace, pod.Name, err))
		return nil
	}
	g.counts["logs"]++
	return g.to.Log(pod.Namespace, pod.Name, file, text)
}

// summary returns how many objects of each kind were written.
func (g *gatherer) summary() string {
	var out []string
	for _, resource := range slices.Sorted(maps.Keys(g.counts)) {
		out = append(out, fmt.Sprintf("%d %s", g.counts[resource], resource))
	}
	if len(out) == 0 {
		return "nothing found"
	}
	return strings.Join(out, ", ")
}
