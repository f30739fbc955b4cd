package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// grpcOrigin is a registry that serves its content by gRPC.
type grpcOrigin struct {
	address string
	puller  puller
	conn    *grpc.ClientConn

	// barred is the reason the last address was not dialed; nil if it was.
	barred atomic.Pointer[Error]
}

func newGRPCOrigin(address string, p puller) (*grpcOrigin, error) {
	if err := p.route.plaintext(address); err != nil {
		return nil, err
	}
	out := &grpcOrigin{address: address, puller: p}
	var err error
	if out.conn, err = out.dial(); err != nil {
		return nil, failure(v1alpha1.ReasonSpecInvalid, "spec.address %q is no address: %w", address, err)
	}
	return out, nil
}

// connect dials an address that the registry's name resolved to.
func (o *grpcOrigin) connect(ctx context.Context, address string) (net.Conn, error) {
	conn, err := o.puller.route.dialer().DialContext(ctx, "tcp", address)
	barred, _ := errors.AsType[*Error](err)
	o.barred.Store(barred)
	return conn, err
}

// dial makes a connection that keeps itself up, when there is something to say. Like OLM's it is not encrypted.
func (o *grpcOrigin) dial() (*grpc.ClientConn, error) {
	return grpc.NewClient("dns:///"+o.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(o.connect),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), // its state says whether the registry is there
		grpc.WithUserAgent("operator-status"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 15 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(2*o.puller.limits.Bundle))), // a bundle comes with its ClusterServiceVersion twice
	)
}

func (o *grpcOrigin) close() { _ = o.conn.Close() } // fails where it is closed already

// await returns when the registry has come or gone.
func (o *grpcOrigin) await(ctx context.Context) {
	ready := o.conn.GetState() == connectivity.Ready
	for {
		state := o.conn.GetState()
		if (state == connectivity.Ready) != ready {
			return
		}
		if state == connectivity.Idle {
			o.conn.Connect()
		}
		if !o.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// read lists all bundles. It keeps none of their objects.
func (o *grpcOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	registry := client.NewClientFromConn(o.conn)
	b := newBuilder(o.puller.limits)
	bundles, err := registry.ListBundles(ctx)
	if err != nil {
		return known, o.failure(ctx, err)
	}
	channels := map[channelKey]*declcfg.Channel{}
	for next := bundles.Next(); next != nil; next = bundles.Next() {
		if err := addAPIBundle(b, channels, next); err != nil {
			return known, o.failure(ctx, err)
		}
	}
	if err := bundles.Error(); err != nil {
		return known, o.failure(ctx, err)
	}
	content, err := o.packages(ctx, registry, b, channels)
	if err != nil {
		return known, o.failure(ctx, err)
	}
	out := &reading{content: content, puller: o.puller}
	out.texts = func(ctx context.Context, b *Bundle) ([]text, error) { return o.texts(ctx, out.content, b) }
	return out, nil
}

func (o *grpcOrigin) failure(ctx context.Context, err error) error {
	switch said, barred := status.Convert(err), o.barred.Load(); {
	case barred != nil:
		return failure(barred.Reason, "the registry at %s: %w", o.address, barred.cause)
	case asError(err, "").Reason != "":
		return err
	case ctx.Err() != nil:
		return failure(v1alpha1.ReasonUnreachable, "the registry at %s does not answer in time: %w", o.address, ctx.Err())
	case said.Code() == codes.Unimplemented:
		return failure(v1alpha1.ReasonNotACatalog, "the server at %s is no operator registry: %s", o.address, said.Message())
	default:
		return failure(v1alpha1.ReasonUnreachable, "the registry at %s cannot be read: %s", o.address, unwrapped(said.Message()))
	}
}

// unwrapped is what gRPC says of a connection, in plain words.
func unwrapped(message string) string {
	if _, inner, ok := strings.Cut(message, "connection error: desc = "); ok {
		if text, err := strconv.Unquote(inner); err == nil {
			message = text
		}
	}
	message = strings.TrimPrefix(message, "transport: Error while dialing: ")
	if rest, ok := strings.CutPrefix(message, "error reading server preface: "); ok {
		return "it takes connections and does not answer as a registry does: " + rest
	}
	return message
}

type channelKey struct{ packageName, channel string }

// addAPIBundle adds a bundle in a channel, as a registry tells of it. A bundle in several channels comes several times.
func addAPIBundle(b *builder, channels map[channelKey]*declcfg.Channel, in *api.Bundle) error {
	key := channelKey{in.PackageName, in.ChannelName}
	channel := channels[key]
	if channel == nil {
		channel = &declcfg.Channel{Name: in.ChannelName, Package: in.PackageName}
		channels[key] = channel
	}
	entry := declcfg.ChannelEntry{Name: in.CsvName, Replaces: in.Replaces, Skips: in.Skips, SkipRange: in.SkipRange}
	channel.Entries = append(channel.Entries, entry)
	if err := b.count(weight(entry)); err != nil {
		return err
	}
	known := func(o declcfg.Bundle) bool { return o.Name == in.CsvName }
	if d := b.drafts[in.PackageName]; d != nil && slices.ContainsFunc(d.Bundles, known) {
		return nil
	}
	if in.Deprecation != nil {
		b.draft(in.PackageName).deprecate(declcfg.SchemaBundle, in.CsvName, in.Deprecation)
	}
	return b.merge("", in.PackageName, declcfg.Bundle{
		Name: in.CsvName, Package: in.PackageName, Image: in.BundlePath, Properties: apiProperties(in),
	})
}

// apiProperties are those of a bundle, and what older registries tell beside them.
func apiProperties(in *api.Bundle) []property.Property {
	var out []property.Property
	has := map[string]bool{}
	for _, p := range in.Properties {
		has[p.Type] = true
		if p.Type != property.TypeBundleObject && p.Type != property.TypeCSVMetadata {
			out = append(out, property.Property{Type: p.Type, Value: json.RawMessage(p.Value)})
		}
	}
	if !has[property.TypePackage] {
		out = append(out, property.MustBuildPackage(in.PackageName, in.Version))
	}
	if !has[property.TypeGVK] {
		for _, gvk := range in.ProvidedApis {
			out = append(out, property.MustBuildGVK(gvk.Group, gvk.Version, gvk.Kind))
		}
	}
	if !has[property.TypeGVKRequired] {
		for _, gvk := range in.RequiredApis {
			out = append(out, property.MustBuildGVKRequired(gvk.Group, gvk.Version, gvk.Kind))
		}
	}
	if !has[property.TypePackageRequired] {
		for _, d := range in.Dependencies {
			var of property.Package
			if d.Type == property.TypePackage && json.Unmarshal([]byte(d.Value), &of) == nil {
				out = append(out, property.MustBuildPackageRequired(of.PackageName, of.Version))
			}
		}
	}
	if !has[property.TypeConstraint] {
		for _, d := range in.Dependencies {
			if d.Type == property.TypeConstraint {
				out = append(out, property.Property{Type: d.Type, Value: json.RawMessage(d.Value)})
			}
		}
	}
	return out
}

func (d *draft) deprecate(schema, name string, said *api.Deprecation) {
	d.Deprecations = append(d.Deprecations, declcfg.Deprecation{Entries: []declcfg.DeprecationEntry{{
		Reference: declcfg.PackageScopedReference{Schema: schema, Name: name}, Message: said.GetMessage(),
	}}})
}

// packages asks for what is said of each package, and makes Content of it all. The registry has checked the graphs.
func (o *grpcOrigin) packages(ctx context.Context, registry *client.Client, b *builder, channels map[channelKey]*declcfg.Channel) (*Content, error) {
	out := &Content{Packages: map[string]*Package{}, Invalid: map[string]string{}}
	for _, c := range channels {
		b.draft(c.Package).Channels = append(b.draft(c.Package).Channels, *c)
	}
	for _, name := range slices.Sorted(maps.Keys(b.drafts)) {
		d := b.drafts[name]
		said, err := registry.GetPackage(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("asking for package %s: %w", name, err)
		}
		d.Packages = []declcfg.Package{{Name: name, DefaultChannel: said.DefaultChannelName}}
		if said.Deprecation != nil {
			d.deprecate(declcfg.SchemaPackage, "", said.Deprecation)
		}
		for _, c := range said.Channels {
			if c.Deprecation != nil {
				d.deprecate(declcfg.SchemaChannel, c.Name, c.Deprecation)
			}
		}
		slices.SortFunc(d.Channels, func(x, y declcfg.Channel) int { return cmp.Compare(x.Name, y.Name) })
		if out.Packages[name], err = newPackage(d.DeclarativeConfig); err != nil {
			delete(out.Packages, name)
			out.Invalid[name] = stable(err.Error())
		}
	}
	return out, nil
}

// texts gives the objects of bundles, on a connection of its own: the origin may be closed by then. Those that have an
// image are pulled: for them a registry may make up a ClusterServiceVersion that cannot be installed.
func (o *grpcOrigin) texts(ctx context.Context, content *Content, b *Bundle) ([]text, error) {
	if b.Image != "" {
		return nil, nil
	}
	channel, ok := channelOf(content, b)
	if !ok {
		return nil, notOffered(b)
	}
	conn, err := o.dial()
	if err != nil {
		return nil, o.failure(ctx, err)
	}
	defer func() { _ = conn.Close() }() // there is nothing to lose
	got, err := client.NewClientFromConn(conn).GetBundle(ctx, b.Package, channel, b.Name)
	if err != nil {
		return nil, o.failure(ctx, err)
	}
	return apiTexts(got), nil
}

// apiTexts are the objects that a registry gives. Its ClusterServiceVersion is among them, or beside them.
func apiTexts(in *api.Bundle) []text {
	var out []text
	hasCSV := false
	for i, object := range in.Object {
		m, err := parseManifest([]byte(object))
		hasCSV = hasCSV || err == nil && m.Kind == kindCSV
		out = append(out, text{name: "object " + strconv.Itoa(i+1), data: []byte(object)})
	}
	if !hasCSV && in.CsvJson != "" {
		out = append(out, text{name: "csvJson", data: []byte(in.CsvJson)})
	}
	return out
}

// channelOf is the first channel that a bundle is in.
func channelOf(content *Content, b *Bundle) (string, bool) {
	p := content.Packages[b.Package]
	if p == nil {
		return "", false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Channels)) {
		if p.Channels[name].Entries[b.Name] != nil {
			return name, true
		}
	}
	return "", false
}

func notOffered(b *Bundle) error {
	return failure(v1alpha1.ReasonBundleInvalid, "the catalog offers no bundle %s of package %s any more", b.Name, b.Package)
}
