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

// Find returns the operator that runs in a workload, or nil if no version of it has run. One of OLM is not among them. workloads are those of
// its namespace, or of more.
func Find(of holdv1alpha1.OperatorReference, workloads []installer.Workload) *installer.Installed {
	for _, kind := range kinds {
		for _, w := range workloads {
			if w.Kind == kind && w.Namespace == of.Namespace && w.Name == of.Name && !w.OfCSV && !w.Begins {
				return installed(w)
			}
		}
	}
	return nil
}

// OfWorkload returns the operator that may run in a workload.
func OfWorkload(w installer.Workload) []holdv1alpha1.OperatorReference {
	return []holdv1alpha1.OperatorReference{{Installer: holdv1alpha1.InstallerWorkload, Namespace: w.Namespace, Name: w.Name}}
}

func installed(w installer.Workload) *installer.Installed {
	return &installer.Installed{
		Running:  operator.Version{Ref: w.Ref},
		Request:  operator.Request{Ref: w.Ref, Resource: w.Resource(), Annotations: w.Annotations},
		Version:  installer.VersionOf([]installer.Workload{w}),
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
