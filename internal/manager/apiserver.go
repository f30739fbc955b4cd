package manager

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apiServerAddresses returns the addresses of the API server: that of the kubeconfig, and the endpoints of Service
// default/kubernetes.
func apiServerAddresses(ctx context.Context, config *rest.Config, reader client.Reader) ([]netip.Addr, error) {
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	out, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	slices := &discoveryv1.EndpointSliceList{}
	if err := reader.List(ctx, slices, client.InNamespace("default"), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, fmt.Errorf("listing the addresses of the API server: %w", err)
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				if addr, err := netip.ParseAddr(text); err == nil {
					out = append(out, addr.Unmap())
				}
			}
		}
	}
	return out, nil
}

func lookup(ctx context.Context, host *url.URL) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host.Hostname())
	if err != nil {
		return nil, fmt.Errorf("looking up the address of the API server: %w", err)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, nil
}
