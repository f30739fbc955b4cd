package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scenes holds the manifests of the demo.
//
//go:embed story
var scenes embed.FS

// manifestsIn returns the objects of one of the manifests.
func manifestsIn(name string) ([]*unstructured.Unstructured, error) {
	text, err := scenes.ReadFile("story/" + name)
	if err != nil {
		return nil, err
	}
	objects, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("reading story/%s: %w", name, err)
	}
	return objects, nil
}

func decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// configLifecycle returns the objects of config/lifecycle without the managers' Deployments.
func (s *stage) configLifecycle(ctx context.Context) ([]*unstructured.Unstructured, error) {
	build := command(ctx, s.bin("kustomize"), "build", "config/lifecycle")
	build.Dir = s.root
	var problem bytes.Buffer
	build.Stderr = &problem
	manifests, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("building config/lifecycle: %w\n%s", err, problem.String())
	}
	objects, err := decode(manifests)
	if err != nil {
		return nil, fmt.Errorf("reading config/lifecycle: %w", err)
	}
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }), nil
}

// clusterOperatorCRD is the path of ClusterOperator's CustomResourceDefinition in the module of OpenShift's API.
const clusterOperatorCRD = "config/v1/zz_generated.crd-manifests/0000_00_cluster-version-operator_01_clusteroperators.crd.yaml"

// clusterOperator returns the Cluster Version Operator's objects: the kind, and the object in config/clusteroperator.
func (s *stage) clusterOperator(ctx context.Context) (kind, object []*unstructured.Unstructured, err error) {
	list := command(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api")
	list.Dir = s.root
	folder, err := list.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("finding the module of OpenShift's API: %w", err)
	}
	if kind, err = manifestsOf(filepath.Join(strings.TrimSpace(string(folder)), clusterOperatorCRD)); err != nil {
		return nil, nil, err
	}
	object, err = manifestsOf(filepath.Join(s.root, "config/clusteroperator/clusteroperator.yaml"))
	return kind, object, err
}

func manifestsOf(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return objects, nil
}

// create creates objects with all rights and waits until new kinds are served.
func (s *stage) create(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := s.admin.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			if err := s.awaitServed(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitServed waits until every served version of a CustomResourceDefinition can be listed.
func (s *stage) awaitServed(ctx context.Context, o *unstructured.Unstructured) error {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %s: %w", o.GetName(), err)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind + "List"})
		var last error
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			last = s.admin.List(ctx, list, client.Limit(1))
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for the API server to serve %s %s: %w", crd.Name, version.Name, errors.Join(err, last))
		}
	}
	return nil
}
