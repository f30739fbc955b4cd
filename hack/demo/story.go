package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// step is a step of the demo. do returns an error unless the state described by until is reached.
type step struct {
	title string
	until string
	do    func(*stage, context.Context) error
}

// story is the life of an operator: it is installed, updated once that is safe, and rolled up with the platform.
var story = []step{
	{
		"A control plane starts: etcd, API server, controllers and a fake node, without OLM",
		"it is ready", (*stage).startControlPlane,
	}, {
		"operator-status is installed: config/lifecycle, for clusters without OLM",
		"its kinds are served, and the kinds of OLM that it manages itself", (*stage).install,
	}, {
		"The managers start, as processes here, with the tokens of their service accounts: one reports, and one runs the loops",
		"they have read the cluster", (*stage).startManagerAsItself,
	}, {
		"A catalog offers foo-operator 1.0.0",
		"the catalog has been read", (*stage).offerFirst,
	}, {
		"A user subscribes to foo-operator",
		"1.0.0 runs, and is the newest; its Probe has been created: nothing holds an update", (*stage).subscribe,
	}, {
		"The user creates a Foo, and foo-operator sets its condition Migrating",
		"the Probe has the status that the enhancement prints: do not update now", (*stage).migrate,
	}, {
		"To know that, the manager has read Foos as foo-operator, and never in its own name",
		"the audit log shows whose rights it used", (*stage).checkReaders,
	}, {
		"The catalog offers foo-operator 1.1.0",
		"the update is held, and names the blocking Foo; nothing has changed yet", (*stage).offerUpdate,
	}, {
		"The managers are killed with kill -9, and the migration ends meanwhile",
		"the update still waits, since nothing has allowed it", (*stage).killAndFinish,
	}, {
		"The managers start again, and remember nothing",
		"the update goes through by itself: 1.1.0 runs, and 1.0.0 has been deleted", (*stage).startAgain,
	}, {
		`A user mistypes the annotation on the CRD: "!Migrating &&"`,
		"the Probe stays as the operator was installed, and reports the difference", (*stage).mistype,
	}, {
		"And corrects it",
		"no difference is left", (*stage).mend,
	}, {
		"The platform consists of operators: foo, which exists already, and bar, whose package is misspelt",
		"foo is healthy; bar reports the problem, and which package may have been meant", (*stage).declare,
	}, {
		"The ClusterOperator of all of them is created, as the Cluster Version Operator would",
		"it is not available yet, and names its blockers; no version is set", (*stage).rollUp,
	}, {
		"The name of a package cannot be changed: bar is deleted, and created with the right one",
		"bar runs; the ClusterOperator is available, with the version that the Cluster Version Operator waits for", (*stage).mendName,
	},
}

// namespace is the namespace of foo-operator.
const namespace = "operators"

// The objects of the demo.
var (
	catalogKey      = types.NamespacedName{Namespace: "olm", Name: "demo"} // of the CatalogSource and its ConfigMap
	subscriptionKey = types.NamespacedName{Namespace: namespace, Name: fooPackage}
	deploymentKey   = types.NamespacedName{Namespace: namespace, Name: "foo-operator"}
	operatorAccount = types.NamespacedName{Namespace: namespace, Name: "foo-operator"}
	crdKey          = types.NamespacedName{Name: "foos.example.com"}
	barKey          = types.NamespacedName{Name: "bar"} // of the PlatformOperator
)

// csvOf returns the ClusterServiceVersion of a version of foo-operator. Its Probe has the same name.
func csvOf(version string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "foo-operator.v" + version}
}

// The versions in the catalog.
const (
	first  = "1.0.0"
	second = "1.1.0"
)
