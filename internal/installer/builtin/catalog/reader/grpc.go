package reader

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// registry is a registry that serves a catalog by gRPC.
type registry struct {
	address   string
	plaintext bool
	dialer    dialer
	limits    catalog.Limits

	// barred is the reason why the route rejected the connection, or nil.
	barred atomic.Pointer[catalog.Error]

	// answered is true once the server has answered the last request.
	answered atomic.Bool

	// sent is how much the server has sent. useful is how many bytes of it were messages.
	sent   sent
	useful atomic.Int64
}

func (s *session) registry() *registry {
	return &registry{address: s.Address, plaintext: s.Plaintext, dialer: s.dial, limits: s.Limits}
}

// dial returns a connection that is opened on first use.
func (r *registry) dial() (*grpc.ClientConn, error) {
	out, err := grpc.NewClient("passthrough:///"+r.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the manager, which opens the connection, adds TLS
		grpc.WithContextDialer(r.connect),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent("operator-status"),
		grpc.WithStatsHandler(answers{r}),
		grpc.WithMaxHeaderListSize(longestHeaders),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(r.largestMessage()))),
	)
	if err != nil {
		return nil, catalog.Errorf(v1alpha1.ReasonSpecInvalid, "spec.address %q is not a valid address: %w", r.address, err)
	}
	return out, nil
}

// longestHeaders limits the headers of a response, in bytes. The message of an error is one of them.
const longestHeaders = 16 << 10

// answers records the size of a server's messages, and whether it has answered the last request, since its errors
// otherwise look like those of the connection.
type answers struct{ *registry }

func (a answers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	a.answered.Store(false)
	return ctx
}

func (a answers) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InHeader, *stats.InTrailer:
		a.answered.Store(true)
	case *stats.InPayload:
		a.useful.Add(int64(s.WireLength))
	}
}

func (answers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (answers) HandleConn(context.Context, stats.ConnStats) {}

func (r *registry) connect(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := r.dialer.connect(ctx, sandbox.Address{Host: r.address, Plaintext: r.plaintext, Protocols: []string{"h2"}})
	barred, _ := errors.AsType[*catalog.Error](err)
	r.barred.Store(barred)
	if err != nil {
		return nil, err
	}
	return &metered{Conn: conn, registry: r}, nil
}

// metered is a connection that fails if the server sends much outside of messages: a server could keep a CPU busy with
// PINGs.
type metered struct {
	net.Conn
	registry *registry
	frames   frames
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.frames.add(p[:n], &c.registry.sent)
	if c.registry.floods() {
		return 0, errFlood
	}
	return n, err
}

// idleTalk limits the bytes outside of messages from a server that sends no messages. These are some ten thousand frames.
const idleTalk = 256 << 10

// floods reports whether the server has sent more than messages need: a message counts only once it is complete.
func (r *registry) floods() bool {
	data := r.sent.data.Load()
	return r.sent.other.Load() > idleTalk+data/4 || data > idleTalk+2*r.useful.Load()+r.largestMessage()
}

// largestMessage limits a message, in bytes. It contains the ClusterServiceVersion twice.
func (r *registry) largestMessage() int64 { return 2 * r.limits.Bundle }

var errFlood = errors.New("it sends more data than requested")

// content lists all bundles. It does not keep their objects.
func (r *registry) content(ctx context.Context) (*catalog.Content, error) {
	conn, err := r.dial()
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing is lost
	out, err := r.list(ctx, client.NewClientFromConn(conn))
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	return out, nil
}

func (r *registry) list(ctx context.Context, registry *client.Client) (*catalog.Content, error) {
	b := newBuilder(r.limits)
	bundles, err := registry.ListBundles(ctx)
	if err != nil {
		return nil, err
	}
	channels := map[channelKey]*declcfg.Channel{}
	for next := bundles.Next(); next != nil; next = bundles.Next() {
		if err := addAPIBundle(b, channels, next); err != nil {
			return nil, err
		}
	}
	if err := bundles.Error(); err != nil {
		return nil, err
	}
	return packages(ctx, registry, b, channels)
}

// failure returns why a registry cannot be read. It never quotes the server's data: the server may be reachable only by
// the manager.
func (r *registry) failure(ctx context.Context, err error) error {
	switch answer, barred := status.Convert(err), r.barred.Load(); {
	case barred != nil:
		return catalog.Errorf(barred.Reason, "the registry at %s: %w", r.address, errors.Unwrap(barred))
	case catalog.AsError(err, "").Reason != "":
		return err
	case r.floods():
		return catalog.Errorf(v1alpha1.ReasonNotACatalog, "the server at %s is not an operator registry: %w", r.address, errFlood)
	case ctx.Err() != nil:
		return catalog.Errorf(v1alpha1.ReasonUnreachable, "the registry at %s does not answer in time: %w", r.address, ctx.Err())
	case answer.Code() == codes.Unimplemented:
		return catalog.Errorf(v1alpha1.ReasonNotACatalog, "the server at %s is not an operator registry", r.address)
	case strings.HasPrefix(answer.Message(), unexpectedStatus):
		return catalog.Errorf(v1alpha1.ReasonNotACatalog, "the server at %s is not an operator registry: it returned HTTP status %s", r.address,
			httpStatus.FindString(answer.Message()[len(unexpectedStatus):]))
	case r.answered.Load():
		return catalog.Errorf(v1alpha1.ReasonUnreachable, "the registry at %s cannot be read: it returned the error %s", r.address, answer.Code())
	default:
		return catalog.Errorf(v1alpha1.ReasonUnreachable, "the registry at %s cannot be read: %s", r.address, unwrapped(answer.Message()))
	}
}

// unexpectedStatus begins gRPC's message about a response by HTTP alone.
const unexpectedStatus = "unexpected HTTP status code received from server: "

var httpStatus = regexp.MustCompile(`^[0-9]{3}`)

// unwrapped returns the message of a gRPC connection error without gRPC's prefixes.
func unwrapped(message string) string {
	if _, inner, ok := strings.Cut(message, "connection error: desc = "); ok {
		if text, err := strconv.Unquote(inner); err == nil {
			message = text
		}
	}
	message = strings.TrimPrefix(message, "transport: Error while dialing: ")
	if rest, ok := strings.CutPrefix(message, "error reading server preface: "); ok {
		return "it accepts connections but does not answer like a registry: " + rest
	}
	return message
}

type channelKey struct{ packageName, channel string }

// addAPIBundle adds a bundle of a channel from the response of a registry, which lists a bundle once per channel.
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

// apiProperties returns the properties of a bundle, and adds those that older registries only set in other fields.
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

func (d *draft) deprecate(schema, name string, deprecation *api.Deprecation) {
	d.Deprecations = append(d.Deprecations, declcfg.Deprecation{Entries: []declcfg.DeprecationEntry{{
		Reference: declcfg.PackageScopedReference{Schema: schema, Name: name}, Message: deprecation.GetMessage(),
	}}})
}

// packages queries each package and converts all of them to Content. It does not validate channels further, since the
// registry did.
func packages(ctx context.Context, registry *client.Client, b *builder, channels map[channelKey]*declcfg.Channel) (*catalog.Content, error) {
	out := &catalog.Content{Packages: map[string]*catalog.Package{}, Invalid: map[string]string{}}
	for _, c := range channels {
		b.draft(c.Package).Channels = append(b.draft(c.Package).Channels, *c)
	}
	for _, name := range slices.Sorted(maps.Keys(b.drafts)) {
		d := b.drafts[name]
		pkg, err := registry.GetPackage(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("getting package %s: %w", name, err)
		}
		d.Packages = []declcfg.Package{{Name: name, DefaultChannel: pkg.DefaultChannelName}}
		if pkg.Deprecation != nil {
			d.deprecate(declcfg.SchemaPackage, "", pkg.Deprecation)
		}
		for _, c := range pkg.Channels {
			if c.Deprecation != nil {
				d.deprecate(declcfg.SchemaChannel, c.Name, c.Deprecation)
			}
		}
		slices.SortFunc(d.Channels, func(x, y declcfg.Channel) int { return cmp.Compare(x.Name, y.Name) })
		if out.Packages[name], err = newPackage(d.DeclarativeConfig); err != nil {
			delete(out.Packages, name)
			out.Invalid[name] = catalog.Stable(err.Error())
		}
	}
	return out, nil
}

// texts returns the objects of a bundle without an image. A bundle with an image is pulled instead, since the
// ClusterServiceVersion that a registry synthesizes for it may not be installable.
func (r *registry) texts(ctx context.Context, b *catalog.BundleRequest) ([]text, error) {
	conn, err := r.dial()
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing is lost
	got, err := client.NewClientFromConn(conn).GetBundle(ctx, b.Package, b.Channel, b.Name)
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	return apiTexts(got), nil
}

// apiTexts returns the objects of a registry's response, with the ClusterServiceVersion from csvJson if it is not among
// them.
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

func notOffered(b *catalog.BundleRequest) error {
	return catalog.Errorf(v1alpha1.ReasonBundleInvalid, "the catalog no longer offers bundle %s of package %s", b.Name, b.Package)
}
