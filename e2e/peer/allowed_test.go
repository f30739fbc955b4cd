package peer

import "slices"

// belonging is the reason for differences in the labels of objects that belong to a ClusterServiceVersion.
const belonging = "here all objects that belong to a ClusterServiceVersion are labelled alike"

// certificates is the reason for differences in certificates.
const certificates = "each makes its own certificates"

// allowed lists the differences that may exist between the objects of the built-in loops and those of OLM: each is one field
// of one kind, with its reason.
var allowed = slices.Concat(
	of("metadata.annotations[operatorstatus.io/applied]", "by it the loops know what they applied, and see at a glance that it is as it should be",
		"ClusterRole", "ClusterRoleBinding", "Deployment", "MutatingWebhookConfiguration", "OperatorCondition", "PriorityClass",
		"Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ValidatingWebhookConfiguration"),
	of("metadata.annotations[operatorstatus.io/*", "who asked for it and what brought it: status.relatedObjects is made from that",
		"ClusterServiceVersion"),
	of("metadata.annotations[operatorstatus.io/bundled-by]", "by it is known what a bundle brought, so that it goes with what brought it",
		"ClusterRole", "ClusterRoleBinding", "PriorityClass"),
	of("metadata.annotations[operatorstatus.io/converted-by]",
		"by it the webhook of an operator that is gone is taken out again, without which its custom resources could not be read",
		"CustomResourceDefinition"),
	of("metadata.labels[olm.deployment-spec-hash]", "by it OLM sees that a Deployment is as it should be; the loops compare the fields themselves",
		"Deployment"),
	of("metadata.labels[olm.permissions.hash]", "a hash that only its maker reads", "ClusterRole", "ClusterRoleBinding"),
	of("metadata.labels[operators.coreos.com/*", "OLM's kind Operator selects its objects by it; here status.relatedObjects lists them",
		"ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition", "Deployment",
		"OperatorCondition", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "Subscription"),
	of("metadata.labels[olm.owner]", belonging,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	of("metadata.labels[olm.owner.kind]", belonging,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	of("metadata.labels[olm.owner.namespace]", belonging,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	of("metadata.labels[olm.managed]", "it selects what a cache holds, which is not the same here",
		"ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition", "OperatorCondition", "PodDisruptionBudget", "Role",
		"RoleBinding", "Secret", "Service", "ServiceAccount", "Subscription"),
	of("metadata.labels*", "OLM makes the service accounts of a bundle without the labels that they have there", "ServiceAccount"),
	of("metadata.ownerReferences[clusterserviceversion *",
		"what came in the bundle goes with it, also where OLM would leave it; and so do the rights on an OperatorCondition",
		"Role", "RoleBinding", "ServiceAccount"),
	of("metadata.ownerReferences[operatorcondition *", "they belong to the ClusterServiceVersion, as the OperatorCondition does", "Role", "RoleBinding"),
	of("metadata.ownerReferences[customresourcedefinition *", "OLM spells the kind customresourcedefinition", "ClusterRole"),
	of("metadata.finalizers*", "OLM cleans up by a finalizer; the loops need none, so that nothing hangs when they are gone", "ClusterServiceVersion"),
	of("metadata.annotations[operatorframework.io/installed-alongside-*", "OLM's note of which ClusterServiceVersion brought the definition",
		"CustomResourceDefinition"),
	of("metadata.annotations[olm.providedAPIs]", "OLM's note of what the operators in the group offer; the loops look at them themselves", "OperatorGroup"),
	of("metadata.annotations[olm.generated-by]", "OLM's note of the InstallPlan", "Subscription"),
	of("metadata.annotations[deployment.kubernetes.io/revision]", "OLM rolls some Deployments out twice", "Deployment"),
	of("metadata.labels[olm.operatorgroup.uid*", "by it OLM's webhooks select namespaces, which here they do by name", "Namespace"),
	of("metadata.name", "OLM ends the name with random characters; here it is the same each time", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration"),
	of("metadata.generateName", "OLM ends the name with random characters; here it is the same each time", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration"),
	of("metadata.labels[olm.webhook-description-hash]", "by it OLM sees that it is as it should be; the loops compare the fields themselves",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
	of("metadata.name", "OLM names them after the Service alone, so that two of one name in two namespaces share one", "ClusterRoleBinding", "RoleBinding"),
	of("spec.conversion*", certificates+"; and at some updates OLM leaves the conversion out that the new version asks for", "CustomResourceDefinition"),
	of("spec.template.metadata.annotations.olmcahash", certificates, "Deployment"),
	of("metadata.annotations[olmcahash]", certificates, "Secret"),
	of("data*", certificates, "Secret"),
	of("webhooks*.clientConfig.caBundle", certificates, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
	of("data[ca.crt]", "each cluster has its own certificate authority", "ConfigMap"),
	of("spec.clusterIP", "given by the API server", "Service"),
	of("spec.clusterIPs*", "given by the API server", "Service"),
	of("spec.address", "each cluster has the catalog served for itself", "CatalogSource"),
	[]allowance{{kind: "Secret", name: "grant-", reason: "what an InstallPlan has granted is kept where no tenant may write it; OLM relies on annotations"}},
	[]allowance{{kind: "ConfigMap", name: "opt-in-", reason: "what a bundle declares is kept where no tenant may write it; OLM knows no such declaration"}},
	left("ClusterRole", "strimzi-topic-operator"),
	left("Role", "mongodb-enterprise-appdb"),
	left("RoleBinding", "mongodb-enterprise-appdb"),
	left("Role", "service-binding-operator-"),
	left("RoleBinding", "service-binding-operator-"),
)

// allowedRights lists the service accounts whose rights may differ, with the reason.
var allowedRights = map[string]string{
	"b-mongodb-enterprise/mongodb-enterprise-appdb": leftover,
}

// leftover is the reason for objects that OLM has and the loops do not.
const leftover = "the older version brought it and the newer does not: OLM leaves it, and the loops take it away"

// left allows an object that only OLM has.
func left(kind, name string) []allowance {
	return []allowance{{kind: kind, name: name, reason: leftover}}
}

// of allows a field to differ in several kinds.
func of(field, reason string, kinds ...string) []allowance {
	var out []allowance
	for _, kind := range kinds {
		out = append(out, allowance{kind: kind, field: field, reason: reason})
	}
	return out
}

func allowedFor(d difference) (allowance, bool) {
	i := slices.IndexFunc(allowed, func(a allowance) bool { return a.covers(d) })
	if i < 0 {
		return allowance{}, false
	}
	return allowed[i], true
}

// mayBeNamedOtherwise reports whether the name of an object may differ.
func mayBeNamedOtherwise(i identity) bool {
	_, ok := allowedFor(difference{object: i, field: "metadata.name"})
	return ok
}
