// Package platform tests PlatformOperators with the built-in loops, on a cluster with controllers and fake nodes.
package platform

import (
	"context"
	"os"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, _ string) {
		cluster = c
		if err := c.Client.Create(context.Background(), composed); err != nil {
			panic(err)
		}
	}))
}

// composed lets the manager write the kinds that these tests have in spec.resources.
var composed = &rbacv1.ClusterRole{
	ObjectMeta: metav1.ObjectMeta{Name: "composed", Labels: map[string]string{"operatorstatus.io/aggregate-to-compose": "true"}},
	Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"", "widget.example.com", "calm.example.com", "olm.operatorframework.io"},
		Resources: []string{"configmaps", "services", "widgets", "calms", "clusterextensions"},
		Verbs:     []string{"*"},
	}},
}
