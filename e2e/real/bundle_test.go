package real

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestBundle installs the bundle of operator-status by its own loops, on a cluster without OLM. Its catalog and its bundles
// are images of a private registry with TLS. It is updated in the same way while it holds the update of an operator, and
// uninstalled.
func TestBundle(t *testing.T) {
	registry := newPrivateRegistry(t)
	managers := map[string]string{images.Current: registry.Manager(t, images.Current)}
	remove := apply(t, lifecycleManifests(t), managers[images.Current], 1)

	system := testcluster.ManagerAccount.Namespace
	cluster := cluster.Rediscovered(t)
	catalog := registry.catalog(t, registry.Catalog(t, managers))
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "group"}}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "operator-status"}, Spec: &olm.SubscriptionSpec{
		Package: "operator-status", Channel: "stable", CatalogSource: catalog.Name, CatalogSourceNamespace: catalog.Namespace,
	}}
	cluster.Create(t, group, sub)
	awaitRunning(t, cluster, sub, "operator-status.v"+images.Current)

	s := newSample(t, registry.Registry)
	managers[images.Next] = registry.Manager(t, images.Next)
	before := catalog.DeepCopy()
	catalog.Spec.Image = registry.Catalog(t, managers)
	if err := cluster.Client.Patch(t.Context(), catalog, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, cluster, sub, "operator-status.v"+images.Next)
	s.awaitHeld(t)
	s.finish(t)

	uninstall(t, cluster, sub, "operator-status.v"+images.Next)
	remove()
}

// lifecycleManifests returns the manifests of the built-in loops, with those of config/default that they need: the bundle has
// the others.
func lifecycleManifests(t *testing.T) string {
	t.Helper()
	others := strings.Split(build(t, "default"), "\n---\n")
	out := slices.DeleteFunc(strings.Split(build(t, "lifecycle"), "\n---\n"), func(manifest string) bool {
		for _, kind := range []string{"CustomResourceDefinition", "Namespace", "PriorityClass"} {
			if strings.Contains(manifest, "\nkind: "+kind+"\n") {
				return false
			}
		}
		return slices.Contains(others, manifest)
	})
	return strings.Join(out, "\n---\n")
}

// privateRegistry is the registry of the devcluster, which pods reach by TLS only, with a password.
type privateRegistry struct {
	images.Registry

	authority string
}

const user, password = "puller", "secret"

// newPrivateRegistry serves the devcluster's registry to pods until the test ends.
func newPrivateRegistry(t *testing.T) privateRegistry {
	t.Helper()
	plain := images.Of(t, clusterDir).Address
	ip, link := gateway(t)
	authority, key, err := cert.GenerateSelfSignedCertKey(ip.String(), []net.IP{ip}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(authority, key)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: plain})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, given, _ := r.BasicAuth(); name != user || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	forward(t, ip.String(), link, port)
	return privateRegistry{images.Registry{Address: plain, PulledFrom: net.JoinHostPort(ip.String(), port)}, string(authority)}
}

// catalog creates a trusted CatalogSource of an image in the registry, with the CA and the pull secret for it.
func (r privateRegistry) catalog(t *testing.T, image string) *olm.CatalogSource {
	t.Helper()
	if err := cluster.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: global}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	named := metav1.ObjectMeta{Namespace: global, Name: "private"}
	authority := &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"ca.crt": r.authority}}
	login := &corev1.Secret{ObjectMeta: named, Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{
		corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, r.PulledFrom, base64.StdEncoding.EncodeToString([]byte(user+":"+password))),
	}}
	out := &olm.CatalogSource{ObjectMeta: *named.DeepCopy()}
	out.Annotations = map[string]string{v1alpha1.AnnotationRegistryCA: "configmap/" + authority.Name}
	out.Spec = olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: image, Secrets: []string{login.Name}}
	cluster.Create(t, authority, login, out)
	return out
}

// gateway returns the address of this machine for pods, which is that of the API server, and its network interface.
func gateway(t *testing.T) (net.IP, string) {
	t.Helper()
	endpoints := &discoveryv1.EndpointSlice{}
	if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, endpoints); err != nil {
		t.Fatal(err)
	}
	ip := net.ParseIP(endpoints.Endpoints[0].Addresses[0])
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok && network.IP.Equal(ip) {
				return ip, link.Name
			}
		}
	}
	t.Fatalf("no network interface has the API server's address %s", ip)
	return nil, ""
}

// forward makes a port of loopback available to pods, as devcluster does for its own, until the test ends.
func forward(t *testing.T, ip, link, port string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin("devcluster"), "gateway", ip, link, port)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the gateway (`make nodes` builds devcluster): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !bufio.NewScanner(out).Scan() { // a line once it listens
		t.Fatal("the gateway does not listen")
	}
}
