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

// kinds are the kinds of workloads. If several have a name, the operator runs in all of them: which one it is cannot be told.
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet"}

// Find returns the operator that runs in a workload, or nil if no version of it has run. One of OLM is not among them. workloads are those of
// its namespace, or of more.
func Find(of holdv1alpha1.OperatorReference, workloads []installer.Workload) *installer.Installed {
	var out []installer.Workload
	for _, kind := range kinds {
		for _, w := range workloads {
			if w.Kind == kind && w.Namespace == of.Namespace && w.Name == of.Name && !w.OfCSV && !w.Begins {
				out = append(out, w)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return installed(out)
}

// OfWorkload returns the operator that may run in a workload.
func OfWorkload(w installer.Workload) []holdv1alpha1.OperatorReference {
	return []holdv1alpha1.OperatorReference{{Installer: holdv1alpha1.InstallerWorkload, Namespace: w.Namespace, Name: w.Name}}
}

func installed(all []installer.Workload) *installer.Installed {
	first := all[0]
	return &installer.Installed{
		Running:  operator.Version{Ref: first.Ref},
		Request:  operator.Request{Ref: first.Ref, Resource: first.Resource(), Annotations: first.Annotations},
		Version:  installer.VersionOf(all),
		Accounts: installer.AccountsOf(all),
		Retry:    installer.RetryOf(all),
		Denied:   func(allowed string, crds []string) *holdv1alpha1.DeniedUpdates { return denied(all, allowed, crds) },
	}
}

// Limits of DeniedWorkload. The names of images that can be pulled are shorter than 512 bytes, and a workload may always keep those that it has.
const (
	mostImages   = 50
	longestImage = 512
)

// denied returns the changes that update the operator of workloads. A user who allows another image than those that run also allows
// the CustomResourceDefinitions of that version.
func denied(all []installer.Workload, allowed string, crds []string) *holdv1alpha1.DeniedUpdates {
	out := &holdv1alpha1.DeniedUpdates{}
	another := false
	for _, w := range all {
		except := slices.DeleteFunc(slices.Clone(w.Images), func(image string) bool { return len(image) > longestImage })
		except = except[:min(len(except), mostImages)]
		for image := range strings.SplitSeq(allowed, ",") {
			image = strings.TrimSpace(image)
			if image == "" || len(image) > longestImage || slices.Contains(except, image) || len(except) == mostImages {
				continue
			}
			except, another = append(except, image), true
		}
		out.Workloads = append(out.Workloads, holdv1alpha1.DeniedWorkload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Except: except})
	}
	if !another {
		out.CustomResourceDefinitions = installer.DeniedDefinitions(crds)
	}
	return out
}
