package kube

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Existence selects the events of objects that begin or cease to exist.
var Existence = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
