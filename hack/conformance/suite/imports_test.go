// Package suite imports the end-to-end suite of Operator Lifecycle Manager that the conformance run builds, so that
// go.sum covers its dependencies.
package suite

import _ "github.com/operator-framework/operator-lifecycle-manager/test/e2e"
