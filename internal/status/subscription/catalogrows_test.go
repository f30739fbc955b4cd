package subscription

import (
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func catalogRows() map[string]row {
	return map[string]row{
		"UpToDate": {
			reason:  "A Subscription has no message if the newest version is installed and runs.",
			in:      running(),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"NoSuchSource": {
			reason: "A CatalogSource that does not exist is reported first.",
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
			reason: "A CatalogSource of another namespace that is not global is reported as not visible.",
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
			reason:  "A namespace without a visible CatalogSource has no healthy one.",
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
			reason: "Nothing is reported about the catalog and the package while the catalog is read for the first time.",
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
			reason: "The last content of an unhealthy catalog is used, and the catalog is reported as unhealthy.",
			in: with(running(), func(in *Inputs) {
				in.CatalogSources[0] = unhealthy(source("operators"), v1alpha1.ReasonUnreachable, "No answer")
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			message:    "1 of 1 CatalogSources unhealthy, see their status: global/operators",
			conditions: conditions("CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound"),
		},
		"OneUnhealthyOneUnknown": {
			reason: "An unhealthy catalog makes the condition True although another is Unknown, and the message lists the first ones.",
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
			reason: "The message of the resolver about a missing package is reported.",
			in:     with(fresh(), problem(v1alpha1.ReasonPackageNotFound)),
			state:  "", message: "PackageNotFound it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"PackageChannelInvalid=True/PackageNotFound", "ResolutionFailed=True/PackageNotFound"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoSuchChannel": {
			reason:  "The installed version is not affected by a missing channel, and it is unknown whether a newer version exists.",
			in:      with(running(), problem(v1alpha1.ReasonChannelNotFound)),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", message: "ChannelNotFound it is",
			conditions: conditions("PackageChannelInvalid=True/ChannelNotFound", "ResolutionFailed=True/ChannelNotFound",
				"InstalledCSVReplacementAvailable="),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"Unsatisfiable": {
			reason: "An unsatisfiable dependency is a failed resolution, and package and channel are valid.",
			in:     with(fresh(), problem(v1alpha1.ReasonConstraintsNotSatisfiable)),
			state:  "", message: "ConstraintsNotSatisfiable it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"ResolutionFailed=True/ConstraintsNotSatisfiable"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoOperatorGroup": {
			reason: "The package is not reported as invalid if it was not looked up.",
			in:     with(fresh(), problem(v1alpha1.ReasonOperatorGroupMissing)),
			state:  "", message: "OperatorGroupMissing it is",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"PackageChannelInvalid=", "ResolutionFailed=True/OperatorGroupMissing"})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
		"NoSpec": {
			reason: "A Subscription without a spec gets a status.",
			in:     with(fresh(), func(in *Inputs) { in.Subscription.Spec, in.Resolution = nil, nil }),
			state:  "/InvalidCatalog", message: "CatalogSource / is not visible in this namespace: spec.sourceNamespace must be default or global",
			conditions: conditions(slices.Concat(nothingInstalled, planless, []string{
				"CatalogSourceInvalid=True/CatalogSourceNotVisible", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound", "PackageChannelInvalid=",
				"ResolutionFailed="})...),
			why: v1alpha1.ReasonNewestNotKnown,
		},
	}
}
