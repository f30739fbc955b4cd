package peer

import "slices"

// ownerLabels is the reason for differences in the labels of objects that belong to a ClusterServiceVersion.
const ownerLabels = "the loops set the same labels on all objects of a ClusterServiceVersion"

// certificates is the reason for differences in certificates.
const certificates = "each installer creates its own certificates"

// allowed lists the differences that may exist between the objects of the built-in loops and those of OLM: each is one field
// of one kind, with its reason.
var allowed = slices.Concat(
	differsIn("metadata.annotations[operatorstatus.io/applied]", "the loops record the applied hash in it to detect drift",
		"ClusterRole", "ClusterRoleBinding", "Deployment", "MutatingWebhookConfiguration", "OperatorCondition", "PriorityClass",
		"Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ValidatingWebhookConfiguration"),
	differsIn("metadata.annotations[operatorstatus.io/*", "the loops record the Subscription and the objects of the bundle in it for status.relatedObjects",
		"ClusterServiceVersion"),
	differsIn("metadata.annotations[operatorstatus.io/bundled-by]", "the loops record the bundle in it to delete the object with the bundle",
		"ClusterRole", "ClusterRoleBinding", "PriorityClass"),
	differsIn("metadata.annotations[operatorstatus.io/converted-by]",
		"the loops record the owner of the conversion webhook in it to remove the webhook with the operator, so custom resources stay readable",
		"CustomResourceDefinition"),
	differsIn("metadata.labels[olm.deployment-spec-hash]", "OLM detects drift of a Deployment by this hash; the loops compare fields",
		"Deployment"),
	differsIn("metadata.labels[olm.permissions.hash]", "only OLM reads this hash", "ClusterRole", "ClusterRoleBinding"),
	differsIn("metadata.labels[operators.coreos.com/*", "OLM's kind Operator selects its objects by this label; the loops list them in status.relatedObjects",
		"ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition", "Deployment",
		"OperatorCondition", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "Subscription"),
	differsIn("metadata.labels[olm.owner]", ownerLabels,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	differsIn("metadata.labels[olm.owner.kind]", ownerLabels,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	differsIn("metadata.labels[olm.owner.namespace]", ownerLabels,
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "OperatorCondition", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
	differsIn("metadata.labels[olm.managed]", "the label selects the objects in a cache, and the loops cache other objects than OLM",
		"ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition", "OperatorCondition", "PodDisruptionBudget", "Role",
		"RoleBinding", "Secret", "Service", "ServiceAccount", "Subscription"),
	differsIn("metadata.labels*", "OLM creates the service accounts of a bundle without the labels of their manifests", "ServiceAccount"),
	differsIn("metadata.ownerReferences[clusterserviceversion *",
		"the loops delete objects of a bundle, and rights on an OperatorCondition, with the ClusterServiceVersion; OLM leaves some",
		"Role", "RoleBinding", "ServiceAccount"),
	differsIn("metadata.ownerReferences[operatorcondition *", "the loops make the ClusterServiceVersion the owner, as of the OperatorCondition", "Role", "RoleBinding"),
	differsIn("metadata.ownerReferences[customresourcedefinition *", "OLM writes the kind of the owner as customresourcedefinition", "ClusterRole"),
	differsIn("metadata.finalizers*", "OLM cleans up with a finalizer; the loops use none, so no deletion hangs without them", "ClusterServiceVersion"),
	differsIn("metadata.annotations[operatorframework.io/installed-alongside-*", "OLM records the ClusterServiceVersion that installed the definition",
		"CustomResourceDefinition"),
	differsIn("metadata.annotations[olm.providedAPIs]", "OLM records the APIs of the operators in the group; the loops read the ClusterServiceVersions", "OperatorGroup"),
	differsIn("metadata.annotations[olm.generated-by]", "OLM records the InstallPlan", "Subscription"),
	differsIn("metadata.annotations[deployment.kubernetes.io/revision]", "OLM rolls some Deployments out twice", "Deployment"),
	differsIn("metadata.labels[olm.operatorgroup.uid*", "OLM's webhooks select namespaces by this label; those of the loops select them by name", "Namespace"),
	differsIn("metadata.name", "OLM generates the name; the loops use a fixed one", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration"),
	differsIn("metadata.generateName", "OLM generates the name; the loops use a fixed one", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration"),
	differsIn("metadata.labels[olm.webhook-description-hash]", "OLM detects drift of a webhook by this hash; the loops compare fields",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
	differsIn("metadata.name", "OLM derives the name from the Service alone, so Services of one name in two namespaces share one object", "ClusterRoleBinding", "RoleBinding"),
	differsIn("spec.conversion*", certificates+"; OLM omits the conversion of the new version in some updates", "CustomResourceDefinition"),
	differsIn("spec.template.metadata.annotations.olmcahash", certificates, "Deployment"),
	differsIn("metadata.annotations[olmcahash]", certificates, "Secret"),
	differsIn("data*", certificates, "Secret"),
	differsIn("webhooks*.clientConfig.caBundle", certificates, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
	differsIn("data[ca.crt]", "each cluster has its own certificate authority", "ConfigMap"),
	differsIn("spec.clusterIP", "the API server assigns it", "Service"),
	differsIn("spec.clusterIPs*", "the API server assigns it", "Service"),
	differsIn("spec.address", "each cluster has its own server of the catalog", "CatalogSource"),
	[]allowance{{kind: "Secret", name: "grant-", reason: "the loops record the grant of an InstallPlan where no tenant may write; OLM relies on annotations"}},
	[]allowance{{kind: "ConfigMap", name: "opt-in-", reason: "the loops record the declarations of a bundle where no tenant may write; OLM has no such declarations"}},
	onlyInOLM("ClusterRole", "strimzi-topic-operator"),
	onlyInOLM("Role", "mongodb-enterprise-appdb"),
	onlyInOLM("RoleBinding", "mongodb-enterprise-appdb"),
	onlyInOLM("Role", "service-binding-operator-"),
	onlyInOLM("RoleBinding", "service-binding-operator-"),
)

// allowedRights lists the service accounts whose rights may differ, with the reason.
var allowedRights = map[string]string{
	"b-mongodb-enterprise/mongodb-enterprise-appdb": removedByUpdate,
}

// removedByUpdate is the reason for objects that OLM has and the loops do not.
const removedByUpdate = "only the older version contains it: the loops delete it, and OLM does not"

// onlyInOLM allows an object that only OLM has.
func onlyInOLM(kind, name string) []allowance {
	return []allowance{{kind: kind, name: name, reason: removedByUpdate}}
}

// differsIn allows a field to differ in several kinds.
func differsIn(field, reason string, kinds ...string) []allowance {
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

// nameMayDiffer reports whether the name of an object may differ.
func nameMayDiffer(i identity) bool {
	_, ok := allowedFor(difference{object: i, field: "metadata.name"})
	return ok
}
