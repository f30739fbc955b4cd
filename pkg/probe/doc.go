// Package probe is for operators that report themselves whether they may be updated, instead of annotating their
// CustomResourceDefinitions. It writes the Upgradeable condition of the operator's own Probe; while that is False,
// updates of the operator wait.
//
//	own := probe.New(mgr.GetClient(), discoveryClient)
//	...
//	foo := probe.Object{Resource: "foos.example.com", Kind: "Foo", Namespace: "default", Name: "example"}
//	err := own.Hold(ctx, foo, "migrating the database")
//	if err != nil && !errors.Is(err, probe.ErrNotServed) {
//		return err // the critical work must not start before the update is held
//	}
//
// # When to call it
//
// Hold has to return before the critical work starts: an update that was already approved is not called back. Call Hold
// or Release for the object in every reconciliation, not only when its state changes, and Release once it is deleted.
// Each sends one GET, writes only changes, and recreates a Probe that was deleted in the meantime. An operator that knows
// the state of all of its objects at once calls SetUpgradeable instead: it sets the one condition for all of them.
//
// The Probe keeps its last status if the operator stops. An operator that no longer runs, or has removed the calls to
// this package in a new version, does not hold updates by the Probe of another version: each ClusterServiceVersion has a
// Probe of its own, which is deleted with it.
//
// # Clusters without operator-status
//
// Every method finds out by discovery whether the API server serves Probes, and returns ErrNotServed if it does not.
// That answer is kept for RecheckInterval, so operator-status may be installed while the operator runs.
//
// # Name and namespace
//
// With OLM v0 and the built-in loops, a Probe has the name and namespace of the operator's ClusterServiceVersion. The first of
// these that is set is used:
//
//   - Name: WithName; the environment variable OPERATOR_CONDITION_NAME, which OLM and operator-status set, if there is a
//     ClusterServiceVersion of that name; the owner of the operator's pod, found by following its controllers (usually
//     ReplicaSet and Deployment) up to an owner reference to a ClusterServiceVersion or the labels olm.owner and
//     olm.owner.kind.
//   - Namespace: WithNamespace; the environment variables POD_NAMESPACE and OPERATOR_NAMESPACE; the namespace of the
//     pod's service account.
//
// Without a ClusterServiceVersion, the Probe is about the ClusterExtension or the Helm release that the Deployment, StatefulSet
// or DaemonSet of the pod belongs to, or else about that workload. It is named after it, such as reported.helm.foo, and
// deleted with the workload.
//
// # Rights
//
// The operator's service account needs these in its own namespace, all of them. They belong in `permissions` of the
// ClusterServiceVersion:
//
//	rules:
//	- apiGroups: [operators.coreos.com]
//	  resources: [probes]
//	  verbs: [get, create, patch]
//	- apiGroups: [operators.coreos.com]
//	  resources: [probes/status]
//	  verbs: [patch]
//	- apiGroups: [operators.coreos.com]
//	  resources: [clusterserviceversions]
//	  verbs: [get]
//
// The ClusterServiceVersion becomes the owner of the Probe, so the Probe is deleted with it. Finding the name by the
// owner of the pod needs `get` on pods, and on replicasets and deployments in the group apps, as well; without a
// ClusterServiceVersion that is always so, and the rule for these is not needed.
//
// # Clients
//
// The package reads with unstructured objects, which the client of a manager reads from the API server, not from its
// cache, unless client.CacheOptions.Unstructured is set. A client that caches them needs `list` and `watch` as well.
// The kinds of this project need not be registered in the client's scheme.
package probe
