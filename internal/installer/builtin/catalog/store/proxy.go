package store

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// connectThrough connects to a host through an HTTP proxy. The proxy is the choice of the cluster's admin, so its
// address is not restricted.
func connectThrough(ctx context.Context, proxy *url.URL, host string) (net.Conn, error) {
	conn, err := dialProxy(ctx, proxy)
	if err != nil {
		return nil, fmt.Errorf("connecting to proxy %s: %w", proxy.Host, err)
	}
	if err := tunnel(ctx, conn, proxy, host); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to %s through proxy %s: %w", host, proxy.Host, err), conn.Close())
	}
	return conn, nil
}

func dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case proxy.Scheme != "http" && proxy.Scheme != "https":
		return nil, fmt.Errorf("its scheme %q is neither http nor https", proxy.Scheme)
	case port == "" && proxy.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	if proxy.Scheme == "https" {
		return (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// tunnel requests a proxy to connect to a host. Bytes that the proxy sends right after its response are lost: the
// client speaks first in TLS, so there should be none.
func tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, host string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: host}, Host: host, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := request.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it returned %s", answer.Status)
	}
	return nil
}
