package builder

import (
	"fmt"
	"strings"
)

// CRD returns the manifest of a namespaced CustomResourceDefinition with any fields and a status, and with annotations,
// each "key: value". The kind of foos is Foo.
func CRD(plural, group string, annotations ...string) string {
	singular := strings.TrimSuffix(plural, "s")
	return CRDOfKind(plural, group, strings.ToUpper(singular[:1])+singular[1:], annotations...)
}

// CRDOfKind returns the manifest of such a CustomResourceDefinition for a kind with an irregular plural.
func CRDOfKind(plural, group, kind string, annotations ...string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]s.%[2]s
  annotations: {%[4]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, singular: %[3]s, kind: %[5]s, listKind: %[5]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, plural, group, strings.ToLower(kind), strings.Join(annotations, ", "), kind)
}
