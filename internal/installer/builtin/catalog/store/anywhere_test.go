package store

import "k8s.io/apimachinery/pkg/types"

// Anywhere allows every catalog to refer to the registries of the tests.
var Anywhere = Reach{Trusts: func(types.NamespacedName) bool { return true }, Plaintext: []string{"127.0.0.1", "localhost"}}
