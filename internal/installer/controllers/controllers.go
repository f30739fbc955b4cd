// Package controllers describes the operators that no ClusterServiceVersion describes, whatever installed them: by the workloads that serve
// CustomResourceDefinitions. It is pure.
package controllers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/argocd"
	"github.com/operator-status/operator-status/internal/installer/flux"
	"github.com/operator-status/operator-status/internal/installer/helm"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/installer/workload"
	"github.com/operator-status/operator-status/internal/operator"
)

// Installer describes these operators.
type Installer struct{}

var (
	_ installer.Installer = Installer{}
	_ installer.Runner    = Installer{}
	_ installer.Checker   = Installer{}
)

// Name implements installer.Installer. It is that of operators whose workloads have no mark of another one.
func (Installer) Name() string { return string(holdv1alpha1.InstallerWorkload) }

// Kinds implements installer.Installer. Records of Helm are not read: who may read them may read the values of a release.
func (Installer) Kinds() []installer.Kind {
	return slices.Concat(Kinds(), ReportKinds())
}

// ReportKinds are those of the objects in which programs report on the operators that they install. Only that part of them is read.
func ReportKinds() []installer.Kind {
	return append(flux.Kinds(), argocd.Kind(), olmv1.ExtensionKind())
}

// Operators implements installer.Installer. An operator consists of those controllers that were installed together.
func (Installer) Operators(c installer.Cluster) []operator.Operator {
	workloads, definitions := map[holdv1alpha1.OperatorReference][]installer.Workload{}, map[holdv1alpha1.OperatorReference]sets.Set[string]{}
	for _, w := range In(c) {
		of := Owner(w.Workload)
		workloads[of] = append(workloads[of], w.Workload)
		definitions[of] = definitions[of].Union(sets.New(w.Definitions...))
	}
	out := make([]operator.Operator, 0, len(workloads))
	byFlux, byArgo := flux.In(c), argocd.In(c)
	for of, some := range workloads {
		op := describe(of, some, c)
		op.Unfinished = cmp.Or(byFlux.Unfinished(some), byArgo.Unfinished(some))
		out = append(out, op)
	}
	out = withExtensions(out, c)
	installer.AddDefinitions(c, out, func(op operator.Operator) []string { return sets.List(definitions[op.Reference]) })
	return operator.Sorted(out)
}

// withExtensions adds the reports of OLM v1 to its operators, and adds those that it has not installed.
func withExtensions(operators []operator.Operator, c installer.Cluster) []operator.Operator {
	for _, e := range installer.Values[olmv1.ClusterExtension](c) {
		unfinished, of := e.Unfinished(), e.Reference()
		i := slices.IndexFunc(operators, func(op operator.Operator) bool { return op.Reference == of })
		switch {
		case i >= 0:
			operators[i].Unfinished = unfinished
		case unfinished != nil && (c.Namespace == "" || c.Namespace == of.Namespace):
			operators = append(operators, operator.Operator{
				Installer: names[of.Installer], Namespace: of.Namespace, Name: of.Name, Reference: of, State: operator.NotInstalled,
				UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionUnknown, Unfinished: unfinished,
			})
		}
	}
	return operators
}

// Runs implements installer.Runner.
func (Installer) Runs(op operator.Operator, w installer.Workload) bool {
	return !w.OfCSV && Owner(w) == op.Reference
}

// Owner returns the operator that a workload without ClusterServiceVersion belongs to. OLM v1 installs with Helm's code, and marks objects as
// Helm does.
func Owner(w installer.Workload) holdv1alpha1.OperatorReference {
	return slices.Concat(olmv1.OfWorkload(w), helm.OfWorkload(w), workload.OfWorkload(w))[0]
}

// names are those of installers, for users.
var names = map[holdv1alpha1.Installer]string{holdv1alpha1.InstallerOLMv1: "OLM v1", holdv1alpha1.InstallerHelm: "Helm"}

// installerOf returns the name of the program that installed an operator, as far as its workload tells, or empty. Flux and Argo CD install
// Helm releases, too.
func installerOf(of holdv1alpha1.OperatorReference, w installer.Workload) string {
	if of.Installer == holdv1alpha1.InstallerOLMv1 {
		return names[of.Installer]
	}
	return cmp.Or(w.By(), names[of.Installer])
}

// Controller is a workload that serves CustomResourceDefinitions: its service account may report on their custom resources. That makes it
// an operator, whatever installed it.
type Controller struct {
	installer.Workload

	// Object is the workload itself.
	Object installer.Object

	// Definitions are the names of the CustomResourceDefinitions, sorted.
	Definitions []string
}

// In returns the controllers of a cluster that belong to no ClusterServiceVersion, sorted by namespace, name and kind.
func In(c installer.Cluster) []Controller {
	definitions := Definitions{}
	for _, crd := range installer.Values[metav1.PartialObjectMetadata](c) {
		definitions.Add(&crd)
	}
	rights := RightsIn(c, definitions)
	var out []Controller
	for _, object := range c.Objects {
		w, ok := installer.WorkloadOf(object)
		if !ok || w.OfCSV {
			continue
		}
		if its := rights[w.Account()].Served(w, definitions); len(its) > 0 {
			out = append(out, Controller{w, object, its.Definitions()})
		}
	}
	slices.SortFunc(out, func(a, b Controller) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// Definitions are CustomResourceDefinitions that operators may serve: their marks by their names.
type Definitions map[string][]string

// Add adds a CustomResourceDefinition.
func (d Definitions) Add(crd metav1.Object) {
	d[crd.GetName()] = installer.Marks(crd.GetLabels(), crd.GetAnnotations())
}

// Served has the namespaces in which a service account serves CustomResourceDefinitions, by the names of these, or nil for all.
type Served map[string][]string

// Definitions returns the names of the CustomResourceDefinitions, sorted.
func (s Served) Definitions() []string { return slices.Sorted(maps.Keys(s)) }

// Namespaces returns those in which some of the CustomResourceDefinitions are served, sorted, or nil for all. It is empty if none of
// them is.
func (s Served) Namespaces(definitions []string) []string {
	out := []string{}
	for _, d := range definitions {
		in, ok := s[d]
		if ok && in == nil {
			return nil
		}
		out = append(out, in...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// add adds definitions that an account serves in a namespace, or in all if that is empty.
func (s Served) add(definitions []string, namespace string) {
	var in []string
	if namespace != metav1.NamespaceAll {
		in = []string{namespace}
	}
	for _, d := range definitions {
		s.merge(d, in)
	}
}

// merge adds namespaces in which a definition is served, or all if these are nil.
func (s Served) merge(definition string, namespaces []string) {
	switch in, ok := s[definition]; {
	case namespaces == nil:
		s[definition] = nil
	case !ok || in != nil:
		s[definition] = slices.Concat(in, namespaces)
	}
}

// Rights are the CustomResourceDefinitions on whose custom resources a service account may report.
type Rights struct {
	// Named are those of API groups that its roles name.
	Named Served

	// All are those on which it may report since a role of it is for all API groups, as that of an administrator.
	All Served
}

// Served returns the CustomResourceDefinitions that a workload with these rights serves. An administrator serves those that were installed
// together with it.
func (r Rights) Served(w installer.Workload, definitions Definitions) Served {
	if len(r.All) == 0 {
		return r.Named
	}
	out, marks := maps.Clone(r.Named), installer.Marks(w.Labels, w.Annotations)
	for name, in := range r.All {
		if slices.ContainsFunc(definitions[name], func(mark string) bool { return slices.Contains(marks, mark) }) {
			out.merge(name, in)
		}
	}
	return out
}

// RightsIn returns the rights of service accounts.
func RightsIn(c installer.Cluster, definitions Definitions) map[types.NamespacedName]Rights {
	plurals := byGroup(slices.Collect(maps.Keys(definitions)))
	named, all := map[string][]string{}, map[string][]string{} // names of CustomResourceDefinitions by role
	for _, r := range installer.Values[rbacv1.ClusterRole](c) {
		its, others := servedWith(r.Rules, plurals)
		if r.Labels[LabelBootstrapping] == "" {
			named[r.Name] = its
		}
		all[r.Name] = others
	}
	for _, r := range installer.Values[rbacv1.Role](c) {
		key := r.Namespace + "/" + r.Name
		named[key], all[key] = servedWith(r.Rules, plurals)
	}
	out := map[types.NamespacedName]Rights{}
	bind := func(namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		for _, account := range Accounts(namespace, subjects) {
			if _, ok := out[account]; !ok {
				out[account] = Rights{Served{}, Served{}}
			}
			out[account].Named.add(named[roleOf(namespace, ref)], namespace)
			out[account].All.add(all[roleOf(namespace, ref)], namespace)
		}
	}
	for _, b := range installer.Values[rbacv1.ClusterRoleBinding](c) {
		bind("", b.RoleRef, b.Subjects)
	}
	for _, b := range installer.Values[rbacv1.RoleBinding](c) {
		bind(b.Namespace, b.RoleRef, b.Subjects)
	}
	return out
}

// LabelBootstrapping marks the roles of Kubernetes itself. Those named admin and edit are for users: rights on custom resources are
// added to them, also to report on these, and an account that is bound to one is no operator for that.
const LabelBootstrapping = "kubernetes.io/bootstrapping"

// Accounts returns the service accounts among the subjects of a binding in a namespace, or of a ClusterRoleBinding. Groups are left out: rights
// of all service accounts make none of them an operator.
func Accounts(namespace string, subjects []rbacv1.Subject) []types.NamespacedName {
	var out []types.NamespacedName
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			out = append(out, types.NamespacedName{Namespace: cmp.Or(s.Namespace, namespace), Name: s.Name})
		case rbacv1.UserKind:
			user, isAccount := strings.CutPrefix(s.Name, userOfAccount)
			if of, name, ok := strings.Cut(user, ":"); ok && isAccount {
				out = append(out, types.NamespacedName{Namespace: of, Name: name})
			}
		}
	}
	return out
}

// userOfAccount is the prefix of the name of the user that a service account is, before its namespace and name.
const userOfAccount = "system:serviceaccount:"

// roleOf returns the key of a role in RightsIn.
func roleOf(namespace string, ref rbacv1.RoleRef) string {
	if ref.Kind == "Role" {
		return namespace + "/" + ref.Name
	}
	return ref.Name
}

// Reports reports whether a rule may let a service account serve some CustomResourceDefinition.
func Reports(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == "update" || v == "patch" || v == rbacv1.VerbAll }) &&
		slices.ContainsFunc(rule.Resources, func(r string) bool { return r == rbacv1.ResourceAll || strings.Contains(r, "/") })
}

// ReportedWith returns those of some CustomResourceDefinitions on whose custom resources rules allow to report.
func ReportedWith(rules []rbacv1.PolicyRule, definitions []string) []string {
	named, _ := servedWith(rules, byGroup(definitions))
	return named
}

// byGroup returns the plural names in names of CustomResourceDefinitions, by API group.
func byGroup(definitions []string) map[string][]string {
	out := map[string][]string{}
	for _, name := range definitions {
		if plural, group, ok := strings.Cut(name, "."); ok {
			out[group] = append(out[group], plural)
		}
	}
	return out
}

// servedWith returns the names of the CustomResourceDefinitions on whose custom resources rules allow to report: those of API groups that the
// rules name, and those of rules for all API groups.
func servedWith(rules []rbacv1.PolicyRule, plurals map[string][]string) (named, all []string) {
	for _, rule := range rules {
		if !Reports(rule) {
			continue
		}
		for _, group := range rule.APIGroups {
			named = append(named, reportedIn(group, rule, plurals)...)
		}
		if slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) {
			for group := range plurals {
				all = append(all, reportedIn(group, rule, plurals)...)
			}
		}
	}
	return named, all
}

// reportedIn returns the names of the CustomResourceDefinitions of an API group on whose custom resources a rule for it allows to report.
func reportedIn(group string, rule rbacv1.PolicyRule, plurals map[string][]string) []string {
	var out []string
	for _, plural := range plurals[group] {
		if slices.ContainsFunc(rule.Resources, func(r string) bool {
			return r == plural+"/status" || r == "*/status" || r == rbacv1.ResourceAll || r == plural+"/*"
		}) {
			out = append(out, plural+"."+group)
		}
	}
	return out
}

// Kinds are the kinds that In and Installer read.
func Kinds() []installer.Kind {
	definitions := apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	metadata := func() installer.List {
		out := &metav1.PartialObjectMetadataList{}
		out.SetGroupVersionKind(definitions.GroupVersion().WithKind(definitions.Kind + "List"))
		return out
	}
	out := []installer.Kind{
		{
			GroupVersionKind: definitions, Plural: "CustomResourceDefinitions", AddToScheme: apiextensions.AddToScheme, List: metadata, ClusterScoped: true,
		},
		holdKind(),
		probeKind(),
	}
	apps, rbac := appsv1.SchemeGroupVersion, rbacv1.SchemeGroupVersion
	for _, k := range []installer.Kind{
		{GroupVersionKind: apps.WithKind("Deployment"), List: func() installer.List { return &appsv1.DeploymentList{} }},
		{GroupVersionKind: apps.WithKind("StatefulSet"), List: func() installer.List { return &appsv1.StatefulSetList{} }},
		{GroupVersionKind: apps.WithKind("DaemonSet"), List: func() installer.List { return &appsv1.DaemonSetList{} }},
	} {
		k.Plural, k.AddToScheme, k.Trim = k.Kind+"s", appsv1.AddToScheme, trimWorkload
		out = append(out, k)
	}
	for _, k := range []installer.Kind{
		{GroupVersionKind: rbac.WithKind("Role"), List: func() installer.List { return &rbacv1.RoleList{} }},
		{GroupVersionKind: rbac.WithKind("RoleBinding"), List: func() installer.List { return &rbacv1.RoleBindingList{} }},
		{GroupVersionKind: rbac.WithKind("ClusterRole"), List: func() installer.List { return &rbacv1.ClusterRoleList{} }, ClusterScoped: true},
		{GroupVersionKind: rbac.WithKind("ClusterRoleBinding"), List: func() installer.List { return &rbacv1.ClusterRoleBindingList{} }, ClusterScoped: true},
	} {
		k.Plural, k.AddToScheme, k.Trim = k.Kind+"s", rbacv1.AddToScheme, trim
		out = append(out, k)
	}
	for i := range out {
		out[i].Background = !slices.Contains([]string{"ClusterRole", "Deployment", v1alpha1.ProbeKind}, out[i].Kind)
		out[i].Unwatched = out[i].Kind != v1alpha1.ProbeKind
	}
	return out
}

// upgradeHolds is the Plural of that kind.
const upgradeHolds = "UpgradeHolds"

func trim(o installer.Object) { o.SetManagedFields(nil) }

// trimWorkload removes everything that package installer does not read. Of managed fields it reads the times.
func trimWorkload(o installer.Object) {
	installer.DropFields(o)
	delete(o.GetAnnotations(), "kubectl.kubernetes.io/last-applied-configuration")
}

// describe returns the operator that runs in workloads, of which the first gives its version.
func describe(of holdv1alpha1.OperatorReference, workloads []installer.Workload, c installer.Cluster) operator.Operator {
	first := workloads[0]
	out := operator.Operator{
		Installer: installerOf(of, first), Namespace: of.Namespace, Name: of.Name, Reference: of, Version: first.Version(), State: operator.Running,
		UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionTrue,
	}
	for _, w := range workloads {
		if w.State != operator.Running {
			out.State = w.State
		}
	}
	if out.Unread = installer.UnreadOf(c, reporting(of, workloads)...); slices.Contains(out.Unread, upgradeHolds) {
		out.Upgradeable = metav1.ConditionUnknown
	}
	for _, h := range installer.Values[holdv1alpha1.UpgradeHold](c) {
		if h.Spec.Operator == of && meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionHeld) {
			out.Upgradeable = metav1.ConditionFalse
			out.Blockers = append(out.Blockers, installer.HeldWith(h)...)
		}
	}
	for _, probe := range installer.Values[v1alpha1.Probe](c) {
		if named, ok := holdv1alpha1.ProbedOperator(&probe); ok && named == of {
			if b := installer.Unreliable(&probe); b != nil {
				out.Blockers = slices.Insert(out.Blockers, 0, *b)
			}
			out.Notices = append(out.Notices, installer.NoticesOf(&probe)...)
		}
	}
	return out
}

// reporting returns the kinds whose objects report on an operator: those of operator-status, and those by which its workloads were applied.
func reporting(of holdv1alpha1.OperatorReference, workloads []installer.Workload) []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{holdKind().GroupVersionKind, probeKind().GroupVersionKind}
	if by := installer.RetryOf(workloads); by != nil {
		out = append(out, by.Kind)
	}
	if installer.ApplicationOf(workloads) != "" {
		out = append(out, argocd.Kind().GroupVersionKind)
	}
	if of.Installer == holdv1alpha1.InstallerOLMv1 {
		out = append(out, olmv1.Kind)
	}
	return out
}
