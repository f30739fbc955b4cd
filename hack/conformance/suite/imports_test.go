// Package suite pins the end-to-end suite of Operator Lifecycle Manager that the conformance run builds, so that go.sum
// covers all that it imports.
package suite

import _ "github.com/operator-framework/operator-lifecycle-manager/test/e2e"
