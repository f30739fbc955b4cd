package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat_with_lease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// fakeNode is the name of the node that kwok simulates.
const fakeNode = "fake-0"

// kwok simulates the kubelet: pods become ready, complete and are deleted without running, as its stages configure.
var kwok = component{
	name: "kwok",
	prepare: func(ctx context.Context, c *cluster) error {
		if err := os.WriteFile(c.dir.path("kwok.yaml"), []byte(stages()), 0o600); err != nil {
			return err
		}
		return createFakeNode(ctx, c)
	},
	args:  func(c *cluster) []string { return kwokArgs(c) },
	ready: func(ctx context.Context, c *cluster) error { return nodeReady(ctx, c, fakeNode) },
}

func kwokArgs(c *cluster) []string {
	return []string{
		"--kubeconfig=" + c.dir.path("kubeconfig"),
		"--config=" + c.dir.path("kwok.yaml"),
		"--node-lease-duration-seconds=40", // without leases the node becomes unknown after 40 s
		"--cidr=10.244.0.0/16",
		"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
	}
}

// fakeNodeCommand adds a fake node to a cluster with a real one, for tests with more pods than can run.
func fakeNodeCommand(root, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:    "fake-node",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locate(*root, *dir, cmd.OutOrStdout())
			if err == nil {
				err = c.load()
			}
			if err == nil {
				err = kwok.prepare(cmd.Context(), c)
			}
			if err != nil {
				return err
			}
			log, err := os.Create(c.dir.log(kwok.name))
			if err != nil {
				return err
			}
			defer log.Close() //nolint:errcheck // it is a log
			run := exec.CommandContext(cmd.Context(), filepath.Join(c.builder.bin, kwok.name), kwokArgs(c)...)
			run.Stdout, run.Stderr = log, log
			return run.Run()
		},
	}
}

func stages() string {
	return strings.Join([]string{
		nodefast.DefaultNodeInit,
		heartbeat_with_lease.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	}, "\n---\n")
}

func createFakeNode(ctx context.Context, c *cluster) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fakeNode,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{
				corev1.LabelHostname:   fakeNode,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
				"type":                 "kwok",
			},
		},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{Architecture: runtime.GOARCH, OperatingSystem: "linux"}},
	}
	if _, err := c.api.Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating node %s: %w", fakeNode, err)
	}
	return nil
}

func nodeReady(ctx context.Context, c *cluster, name string) error {
	node, err := c.api.Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not Ready", name)
}
