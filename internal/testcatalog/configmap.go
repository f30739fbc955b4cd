package testcatalog

import (
	"bytes"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
)

// ConfigMap is a file-based catalog of packages in a ConfigMap, as a CatalogSource of type configmap reads it.
func ConfigMap(namespace, name string, packages ...Package) (*corev1.ConfigMap, error) {
	config, err := Config(packages...)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	if err := declcfg.WriteYAML(config, &buffer); err != nil {
		return nil, err
	}
	out := &corev1.ConfigMap{Data: map[string]string{"catalog.yaml": buffer.String()}}
	out.Namespace, out.Name = namespace, name
	return out, nil
}
