// The annotated operator holds its updates by an annotation on its CustomResourceDefinition, which is in its bundle. It
// has no code for that.
package main

import "github.com/operator-status/operator-status/e2e/samples/foo"

func main() { foo.Main(nil) }
