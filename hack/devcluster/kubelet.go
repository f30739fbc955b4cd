package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// kubelet runs the pods. It counts as ready once it has run one.
var kubelet = component{
	name:  "kubelet",
	start: inside,
	env:   nodeEnvironment,
	prepare: func(ctx context.Context, c *cluster) error {
		if err := c.dir.write(map[string]string{
			"kubelet.yaml": kubeletConfig(c.dir, c.network()),
			"resolv.conf":  "nameserver " + c.network().Node() + "\n", // of pods that do not use the names of the cluster
		}); err != nil {
			return err
		}
		return pushPause(ctx, c)
	},
	args: func(c *cluster) []string {
		return []string{
			"--config=" + c.dir.path("kubelet.yaml"),
			"--kubeconfig=" + c.dir.path("kubelet.kubeconfig"),
			"--hostname-override=" + realNode,
			"--node-ip=" + c.network().Node(),
		}
	},
	ready: func(ctx context.Context, c *cluster) error {
		if err := nodeReady(ctx, c, realNode); err != nil {
			return err
		}
		return atStart(trialPodRan)(ctx, c)
	},
}

// kubeletConfig returns the kubelet's configuration. It never evicts pods and never refuses to start because of the disk
// or memory of a developer's machine, and it works with both versions of cgroups.
func kubeletConfig(dir folder, n node.Network) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[2]q}
authorization: {mode: Webhook}
tlsCertFile: %[3]q
tlsPrivateKeyFile: %[4]q
containerRuntimeEndpoint: unix://%[5]s
cgroupDriver: cgroupfs
cgroupRoot: /%[6]s
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
enforceNodeAllocatable: []
evictionHard:
  memory.available: 1Mi
  nodefs.available: 1Mi
  nodefs.inodesFree: "1"
  imagefs.available: 1Mi
  imagefs.inodesFree: "1"
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
oomScoreAdj: 0
makeIPTablesUtilChains: false
volumePluginDir: /var/lib/kubelet/volumeplugins
clusterDomain: cluster.local
clusterDNS: [%[1]s]
resolvConf: %[7]q
serializeImagePulls: false
maxPods: 250
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 200
kubeAPIBurst: 400
`, n.Node(), certPath(dir, "ca"), certPath(dir, "serving"), keyPath(dir, "serving"), containerdSocket, node.CgroupName(dir.id()), dir.path("resolv.conf"))
}

// A trial pod shows that the whole node works: the registry, containerd, runc, the pod network and the kubelet.
const trialPodNamespace, trialPodName = "kube-system", "devcluster-trial"

// trialPodRan returns nil once the trial pod has run and was deleted again.
func trialPodRan(ctx context.Context, c *cluster) error {
	pods := c.api.Pods(trialPodNamespace)
	pod, err := pods.Get(ctx, trialPodName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		no := false
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: trialPodName},
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: &no,
				Containers:                   []corev1.Container{{Name: "pause", Image: pauseImage(c.registry())}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating a trial pod: %w", err)
		}
		return errors.New("the trial pod does not run yet")
	}
	if err != nil {
		return fmt.Errorf("reading the trial pod: %w", err)
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Ready && pod.Status.PodIP != "" {
			now := int64(0)
			return pods.Delete(ctx, trialPodName, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
		if waiting := status.State.Waiting; waiting != nil && waiting.Message != "" {
			return fmt.Errorf("the trial pod does not run: %s: %s", waiting.Reason, waiting.Message)
		}
	}
	return errors.New("the trial pod does not run yet")
}
