package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/preview"
)

func previewCommand(o *options) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "preview [NAME] [-f FILE]...",
		Short: "Show the changes of an update before it begins: images, rights, and custom resources that it breaks",
		Long: `Show the changes of an update before it begins: the images of the operator, the rights of its service accounts, and the versions and fields of
its CustomResourceDefinitions, with the custom resources that would break or lose data.

NAME is the name of a Subscription, package, ClusterServiceVersion or PlatformOperator whose InstallPlan waits. With -f, the new version is read
from files: a bundle, the output of helm template or kustomize build, or any manifests. It is compared with the objects of the same names.

Roles count as far as the manifests bind them to a service account. Rights of an object that the new version no longer has are not listed.

The exit code is 3 if custom resources or their clients would break, and 1 if the command fails or cannot tell.`,
		Example: `  # The update of foo that waits for approval
  kubectl operator-status preview foo -n operators

  # Another version of a chart
  helm template foo ./foo-1.1.0.tgz -n foo --include-crds | kubectl operator-status preview -n foo -f -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(o.from) > 0 {
				return errors.New("preview compares with a cluster, and --from is an archive")
			}
			if len(names) == 0 && len(files) == 0 {
				return errors.New("preview needs the NAME of an operator, or the manifests of its new version: -f FILE")
			}
			c, err := o.clientOfAnyKind()
			if err != nil {
				return err
			}
			u, err := o.updateOf(cmd.Context(), c, names, files)
			if err != nil {
				return err
			}
			return o.printPreview(cmd.Context(), c, u)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "File or folder with the manifests of the new version, or - for the standard input.")
	return cmd
}

// update is an update to preview.
type update struct {
	title    string
	operator *operator.Operator // if it was named

	before, after []*unstructured.Unstructured

	// unknown are the roles that the new version binds, and that do not exist.
	unknown []string
}

// updateOf reads an update.
func (o *options) updateOf(ctx context.Context, c client.Reader, names, files []string) (update, error) {
	out := update{title: "The manifests in " + sources(files)}
	var err error
	var plans []olm.InstallPlan
	if len(names) > 0 {
		cluster, operators, err := o.operatorsOf(ctx, names, o.installers.Operators)
		if err != nil {
			return out, err
		}
		plans, out.operator = installer.Values[olm.InstallPlan](cluster), &operators[0]
		out.title = operators[0].Namespace + "/" + operators[0].Name
	}
	if len(files) > 0 {
		if out.after, err = o.manifests(files); err != nil {
			return out, err
		}
	} else if err = out.readPlan(ctx, c, plans); err != nil {
		return out, err
	}
	if err := out.readBefore(ctx, c); err != nil {
		return out, err
	}
	return out, out.readRoles(ctx, c)
}

// sources names files.
func sources(files []string) string {
	out := slices.Clone(files)
	for i, f := range out {
		if f == "-" {
			out[i] = "the standard input"
		}
	}
	return strings.Join(out, ", ")
}

// readPlan reads the new version of an operator from its InstallPlan.
func (u *update) readPlan(ctx context.Context, c client.Reader, plans []olm.InstallPlan) error {
	key, waits := waiting(plans, u.operator)
	if !waits {
		return fmt.Errorf("no InstallPlan of %s waits: %s To preview a version that is not planned, pass its manifests with -f. "+
			"Beside OLM, a held update with automatic approval has no InstallPlan", u.title, summary(*u.operator))
	}
	plan := &olm.InstallPlan{}
	if err := c.Get(ctx, key, plan); err != nil {
		return fmt.Errorf("getting InstallPlan %s: %w", key, err)
	}
	u.title += ": InstallPlan " + key.String()
	for _, step := range plan.Status.Plan {
		if step.Resolving != u.operator.Update || !slices.Contains([]string{v1alpha1.ClusterServiceVersionKind, definitionKind}, step.Resource.Kind) {
			continue
		}
		object, err := manifestOf(ctx, c, step)
		if err != nil {
			return fmt.Errorf("reading %s %s of InstallPlan %s: %w", step.Resource.Kind, step.Resource.Name, key, err)
		}
		if step.Resource.Kind != definitionKind {
			object.SetNamespace(key.Namespace)
		}
		u.after = append(u.after, object)
	}
	return nil
}

// manifests reads the objects in files. Those without a namespace are in that of the command.
func (o *options) manifests(files []string) ([]*unstructured.Unstructured, error) {
	namespace, err := o.namespace()
	if err != nil {
		return nil, err
	}
	found, err := resource.NewLocalBuilder().Unstructured().ContinueOnError().
		FilenameParam(false, &resource.FilenameOptions{Filenames: files, Recursive: true}).Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, info := range found {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			free := object.GetNamespace() == "" && !slices.Contains(clusterScoped, object.GetKind())
			if free || object.GetKind() == v1alpha1.ClusterServiceVersionKind { // in bundles its namespace is a placeholder
				object.SetNamespace(namespace)
			}
			out = append(out, object)
		}
	}
	return out, nil
}

// compared are the kinds that a preview compares, besides CustomResourceDefinitions. Those of clusterScoped have no namespace.
var (
	compared = []string{
		"Deployment", "StatefulSet", "DaemonSet", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", v1alpha1.ClusterServiceVersionKind,
	}
	clusterScoped = []string{"ClusterRole", "ClusterRoleBinding", definitionKind}
)

// readBefore reads the objects that the new version replaces.
func (u *update) readBefore(ctx context.Context, c client.Reader) error {
	for _, after := range u.after {
		if !slices.Contains(compared, after.GetKind()) {
			continue
		}
		before := &unstructured.Unstructured{}
		before.SetGroupVersionKind(after.GroupVersionKind())
		key := client.ObjectKeyFromObject(after)
		if after.GetKind() == v1alpha1.ClusterServiceVersionKind {
			key.Name, _, _ = unstructured.NestedString(after.Object, "spec", "replaces") // empty if invalid: then it replaces none
			if u.operator != nil && u.operator.Installed != "" {
				key.Namespace, key.Name = u.operator.Namespace, u.operator.Installed
			}
		}
		if key.Name == "" {
			continue
		}
		if err := c.Get(ctx, key, before); apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("getting %s %s: %w", after.GetKind(), key, err)
		}
		u.before = append(u.before, before)
	}
	return nil
}

// readRoles reads the roles that manifests bind and do not have, such as cluster-admin.
func (u *update) readRoles(ctx context.Context, c client.Reader) error {
	for _, objects := range []*[]*unstructured.Unstructured{&u.before, &u.after} {
		for _, role := range preview.MissingRoles(*objects) {
			err := c.Get(ctx, client.ObjectKeyFromObject(role), role)
			switch {
			case apierrors.IsNotFound(err) && objects == &u.after:
				u.unknown = append(u.unknown, "unknown: those of "+role.GetKind()+" "+role.GetName()+", which does not exist")
			case apierrors.IsNotFound(err):
			case err != nil:
				return fmt.Errorf("getting %s %s: %w", role.GetKind(), role.GetName(), err)
			default:
				*objects = append(*objects, role)
			}
		}
	}
	return nil
}

// printPreview prints the changes.
func (o *options) printPreview(ctx context.Context, c client.Reader, u update) error {
	before, err := preview.New(u.before)
	if err != nil {
		return err
	}
	after, err := preview.New(u.after)
	if err != nil {
		return err
	}
	title := u.title
	switch {
	case after.Name != "" && before.Name != "":
		title += ", from " + before.Name + " to " + after.Name
	case after.Name != "":
		title += ", " + after.Name + " (compared with nothing: pass the NAME of the operator if a version of it runs)"
	}
	fmt.Fprintln(o.Out, messages.Line(title))
	changes := preview.Compare(before, after)
	o.printSection("Images", changes.Images())
	o.printSection("Rights", changes.Rights(), u.unknown)
	definitions, broken, err := definitionsOf(ctx, c, u.after)
	if err != nil {
		definitions = append(definitions, "unknown: "+err.Error())
	}
	o.printSection("CustomResourceDefinitions", definitions)
	if u.operator != nil {
		var holds []string
		for _, b := range slices.Concat(u.operator.Blockers, u.operator.WouldHold) {
			holds = append(holds, string(b.Impact)+": "+b.Cause)
		}
		o.printSection("Holds", holds)
	}
	switch {
	case broken:
		return exit(exitBroken)
	case err != nil:
		return exit(exitError)
	}
	return nil
}

// printSection prints a heading with lines, or that nothing changes.
func (o *options) printSection(heading string, lines ...[]string) {
	fmt.Fprintln(o.Out, heading)
	all := slices.Concat(lines...)
	if len(all) == 0 {
		all = []string{"none"}
	}
	for _, line := range all {
		fmt.Fprintln(o.Out, wrapped(messages.Line(line), "  ", o.width))
	}
}

// definitionsOf returns the changes of CustomResourceDefinitions in words, and whether they break custom resources or their clients.
func definitionsOf(ctx context.Context, c client.Reader, after []*unstructured.Unstructured) (lines []string, broken bool, err error) {
	var errs []error
	for _, object := range after {
		if object.GetKind() != definitionKind {
			continue
		}
		found, breaks, err := definitionChanges(ctx, c, object)
		lines, broken, errs = append(lines, found...), broken || breaks, append(errs, err)
	}
	return lines, broken, errors.Join(errs...)
}

func definitionChanges(ctx context.Context, c client.Reader, object *unstructured.Unstructured) (lines []string, broken bool, err error) {
	before, after := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, after); err != nil {
		return nil, false, fmt.Errorf("CustomResourceDefinition %s is invalid: %w", object.GetName(), err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), before); apierrors.IsNotFound(err) {
		return []string{"+ " + object.GetName()}, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("getting CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	add := func(format string, args ...any) {
		lines = append(lines, object.GetName()+": "+fmt.Sprintf(format, args...))
	}
	for _, v := range served(after) {
		if !slices.Contains(served(before), v) {
			add("serves %s", v)
		}
	}
	for _, v := range served(before) {
		if !slices.Contains(served(after), v) {
			add("no longer serves %s", v)
		}
	}
	reason, why, err := breakage(ctx, c, object)
	if err != nil {
		return lines, false, fmt.Errorf("checking the custom resources of %s: %w", object.GetName(), err)
	}
	if reason != "" {
		add("BROKEN: it %s", why)
	}
	dropped, loses, err := droppedFields(ctx, c, before, after)
	for _, text := range dropped {
		add("%s", text)
	}
	return lines, reason != "" || loses, err
}

// mostLosing limits the custom resources that are named for a field.
const mostLosing = 3

// droppedFields returns the fields that a definition drops in words, and whether a custom resource has one.
func droppedFields(ctx context.Context, c client.Reader, before, after *apiextensionsv1.CustomResourceDefinition) (lines []string, lost bool, err error) {
	for _, v := range before.Spec.Versions {
		i := slices.IndexFunc(after.Spec.Versions, func(a apiextensionsv1.CustomResourceDefinitionVersion) bool { return a.Name == v.Name })
		if i < 0 || !v.Served || v.Schema == nil || after.Spec.Versions[i].Schema == nil {
			continue
		}
		fields := preview.Dropped(v.Schema.OpenAPIV3Schema, after.Spec.Versions[i].Schema.OpenAPIV3Schema)
		if len(fields) == 0 {
			continue
		}
		kind := before.Spec.Names.Kind
		losing, err := losing(ctx, c, schema.GroupVersionKind{Group: before.Spec.Group, Version: v.Name, Kind: kind}, fields)
		if err != nil {
			return lines, lost, err
		}
		for k, f := range fields {
			text := v.Name + " drops " + f.String()
			if len(losing[k]) > 0 {
				text, lost = "BROKEN: "+text+", which is lost in "+kind+" "+messages.List(losing[k], mostLosing, ", "), true
			}
			lines = append(lines, text)
		}
	}
	return lines, lost, nil
}

// losing returns the custom resources that have each of some fields.
func losing(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, fields []preview.Field) ([][]string, error) {
	out := make([][]string, len(fields))
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := c.List(ctx, list, client.Limit(page), client.Continue(list.GetContinue()))
		if err != nil {
			return nil, fmt.Errorf("listing the %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			for k, f := range fields {
				if f.In(list.Items[i].Object) {
					out[k] = append(out[k], strings.TrimPrefix(client.ObjectKeyFromObject(&list.Items[i]).String(), "/"))
				}
			}
		}
		if list.GetContinue() == "" {
			return out, nil
		}
	}
}
