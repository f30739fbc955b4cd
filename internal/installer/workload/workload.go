// Package workload describes the operators that programs install without a record of their own, such as Argo CD, Flux's
// kustomize-controller and kubectl: each by the workload that it runs in. It is pure.
package workload

import (
	"slices"
	"strings"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// kinds are the kinds of workloads. If several have a name, the operator is the one of the first kind.
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet"}

// Find returns the operator that runs in a workload, or nil if there is none. One of OLM is not among them. workloads are those of its
// namespace, or of more.
func Find(of holdv1alpha1.OperatorReference, workloads []installer.Workload) *installer.Installed {
	for _, kind := range kinds {
		for _, w := range workloads {
			if w.Kind == kind && w.Namespace == of.Namespace && w.Name == of.Name && !w.OfCSV {
				return installed(w)
			}
		}
	}
	return nil
}

// Installer describes the operators that no other installer describes.
type Installer struct{}

var _ installer.Installer = Installer{}

// Name implements installer.Installer.
func (Installer) Name() string { return string(holdv1alpha1.InstallerWorkload) }

// Kinds implements installer.Installer.
func (Installer) Kinds() []installer.Kind { return installer.ControllerKinds() }

// Operators implements installer.Installer: each workload that serves CustomResourceDefinitions and belongs to no Helm release.
func (Installer) Operators(c installer.Cluster) []operator.Operator {
	var out []operator.Operator
	for _, w := range installer.Controllers(c) {
		if w.Annotations["meta.helm.sh/release-name"] == "" && w.By() != "OLM v1" {
			out = append(out, installer.Describe(Of(w.Workload)[0], w.By(), []installer.Workload{w.Workload}, c))
		}
	}
	return out
}

// Of returns the operator that may run in a workload.
func Of(w installer.Workload) []holdv1alpha1.OperatorReference {
	return []holdv1alpha1.OperatorReference{{Installer: holdv1alpha1.InstallerWorkload, Namespace: w.Namespace, Name: w.Name}}
}

func installed(w installer.Workload) *installer.Installed {
	return &installer.Installed{
		Running:  operator.Version{Ref: w.Ref},
		Request:  operator.Request{Ref: w.Ref, Resource: w.Resource(), Annotations: w.Annotations},
		Accounts: installer.AccountsOf([]installer.Workload{w}),
		Retry:    installer.RetryOf([]installer.Workload{w}),
		Denied: func(allowed string, crds []string) *holdv1alpha1.DeniedUpdates {
			return &holdv1alpha1.DeniedUpdates{Workload: denied(w, allowed, crds)}
		},
	}
}

// Limits of DeniedWorkload. The names of images are shorter than 512 bytes, and a workload may always keep those that it has.
const (
	mostImages, mostDefinitions = 50, 500
	longestImage                = 512
)

// denied returns the changes that update the operator of a workload. A user who allows another image than those that run also allows
// the CustomResourceDefinitions of that version.
func denied(w installer.Workload, allowed string, crds []string) *holdv1alpha1.DeniedWorkload {
	out := &holdv1alpha1.DeniedWorkload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
	out.Except = slices.Clone(w.Images[:min(len(w.Images), mostImages)])
	another := false
	for image := range strings.SplitSeq(allowed, ",") {
		image = strings.TrimSpace(image)
		if image == "" || len(image) > longestImage || slices.Contains(out.Except, image) || len(out.Except) == mostImages {
			continue
		}
		out.Except, another = append(out.Except, image), true
	}
	if !another {
		out.CustomResourceDefinitions = crds[:min(len(crds), mostDefinitions)]
	}
	return out
}
