package subscription

import (
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func catalogRows() map[string]row {
	return map[string]row{
		"UpToDate": {
			reason:  "The newest version is installed and runs, so there is no message.",
			in:      running(),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"NoSuchSource": {
			reason: "A CatalogSource that is not there is the first thing to put right.",
			in: with(fresh(), problem(v1alpha1.ReasonCatalogSourceNotFound),
				func(in *Inputs) { in.Subscription.Spec.CatalogSource = "oprators" }),
			state:   "/InvalidCatalog",
			message: "CatalogSource global/oprators not found: create it, or correct spec.source and spec.sourceNamespace",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"CatalogSourceInvalid=True/CatalogSourceNotFound", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound",
				"ResolutionFailed=True/CatalogSourceNotFound", "PackageChannelInvalid="})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"SourceOfAnotherNamespace": {
			reason: "A CatalogSource in a namespace of somebody else's cannot be used, whether it is there or not.",
			in: with(fresh(), problem(v1alpha1.ReasonCatalogSourceNotVisible),
				func(in *Inputs) { in.Subscription.Spec.CatalogSourceNamespace = "other" }),
			state:   "/InvalidCatalog",
			message: "CatalogSource other/operators is not visible in this namespace: spec.sourceNamespace must be default or global",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"CatalogSourceInvalid=True/CatalogSourceNotVisible", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound",
				"ResolutionFailed=True/CatalogSourceNotVisible", "PackageChannelInvalid="})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoSourceAtAll": {
			reason:  "A namespace that sees no CatalogSource has none that is healthy.",
			in:      with(running(), func(in *Inputs) { in.CatalogSources, in.Resolution = nil, nil }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message: "CatalogSource global/operators not found: create it, or correct spec.source and spec.sourceNamespace",
			conditions: conditions("CatalogSourceInvalid=True/CatalogSourceNotFound", "CatalogSourcesUnhealthy=True/NoCatalogSourcesFound",
				"PackageChannelInvalid=", "ResolutionFailed=", "InstalledCSVReplacementAvailable="),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"UnreadableSource": {
			reason: "If a catalog was never read, it is not known whether it has a newer version.",
			in: with(running(), problem(v1alpha1.ReasonCatalogSourceUnreadable), func(in *Inputs) {
				in.CatalogSources[0] = unread(unhealthy(source("operators"), v1alpha1.ReasonImagePullFailed, "No such image."))
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message: "CatalogSource global/operators cannot be read: ImagePullFailed: No such image",
			conditions: conditions("CatalogSourceInvalid=True/CatalogSourceUnreadable", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound",
				"PackageChannelInvalid=", "ResolutionFailed=True/CatalogSourceUnreadable", "InstalledCSVReplacementAvailable="),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"SourceBeingRead": {
			reason: "While a catalog is read for the first time nothing is claimed of it.",
			in: with(running(), func(in *Inputs) {
				in.CatalogSources[0] = unread(unhealthy(source("operators"), v1alpha1.ReasonConnecting, "Reading"))
				in.Resolution = nil
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message: "Waiting for CatalogSource global/operators to be read",
			conditions: conditions("CatalogSourceInvalid=", "CatalogSourcesUnhealthy=Unknown/MissingCatalogInfo",
				"PackageChannelInvalid=", "ResolutionFailed=", "InstalledCSVReplacementAvailable="),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"UnhealthyButRead": {
			reason: "The last content of an unhealthy catalog is used, and its health is reported.",
			in: with(running(), func(in *Inputs) {
				in.CatalogSources[0] = unhealthy(source("operators"), v1alpha1.ReasonUnreachable, "No answer")
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			message:    "1 of 1 CatalogSources unhealthy, see their status: global/operators",
			conditions: conditions("CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound"),
		},
		"OneUnhealthyOneUnknown": {
			reason: "One that is unhealthy decides, whatever the others turn out to be; a message names only so many.",
			in: with(running(), func(in *Inputs) {
				for _, name := range []string{"g", "f", "e", "d", "c", "b", "a"} {
					in.CatalogSources = append(in.CatalogSources, unhealthy(source(name), v1alpha1.ReasonUnreachable, "No answer"))
				}
				in.CatalogSources = append(in.CatalogSources, CatalogSource{CatalogSource: olm.CatalogSource{}})
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			message: "7 of 9 CatalogSources unhealthy, see their status: " +
				"global/a, global/b, global/c, global/d, global/e, and 2 more",
			conditions: conditions("CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound"),
		},
		"NoSuchPackage": {
			reason: "The resolver's sentence on the package is the admin's.",
			in:     with(fresh(), problem(v1alpha1.ReasonPackageNotFound)),
			state:  "", message: "PackageNotFound it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"PackageChannelInvalid=True/PackageNotFound", "ResolutionFailed=True/PackageNotFound"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoSuchChannel": {
			reason:  "A channel that is gone leaves what is installed alone, but nothing is claimed of what is newer.",
			in:      with(running(), problem(v1alpha1.ReasonChannelNotFound)),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", message: "ChannelNotFound it is",
			conditions: conditions("PackageChannelInvalid=True/ChannelNotFound", "ResolutionFailed=True/ChannelNotFound",
				"InstalledCSVReplacementAvailable="),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"Unsatisfiable": {
			reason: "A newer version that cannot be had is a failure to resolve, of a package and channel that are there.",
			in:     with(fresh(), problem(v1alpha1.ReasonConstraintsNotSatisfiable)),
			state:  "", message: "ConstraintsNotSatisfiable it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"ResolutionFailed=True/ConstraintsNotSatisfiable"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoOperatorGroup": {
			reason: "The package was not looked up, so nothing is reported about it.",
			in:     with(fresh(), problem(v1alpha1.ReasonOperatorGroupMissing)),
			state:  "", message: "OperatorGroupMissing it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"PackageChannelInvalid=", "ResolutionFailed=True/OperatorGroupMissing"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoSpec": {
			reason: "A Subscription without a spec is answered too.",
			in:     with(fresh(), func(in *Inputs) { in.Subscription.Spec, in.Resolution = nil, nil }),
			state:  "/InvalidCatalog", message: "CatalogSource / is not visible in this namespace: spec.sourceNamespace must be default or global",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"CatalogSourceInvalid=True/CatalogSourceNotVisible", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound", "PackageChannelInvalid=",
				"ResolutionFailed="})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
	}
}
