package store

import (
	"context"
	"io"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// origin is the source of a CatalogSource's content.
type origin interface {
	// read returns a new reading, or known if the content is unchanged. Together with an error, it may return a reading
	// that stays in use.
	read(ctx context.Context, known *reading) (*reading, error)

	// await blocks until the content may have changed, or ctx is done.
	await(ctx context.Context)

	// close releases the connections of the origin. Its readings stay valid.
	close()
}

// reading is the content of an origin as read at one moment.
type reading struct {
	content *catalog.Content

	// stored is the size of the content on disk, in bytes.
	stored int64

	// from identifies the content, such as "sha256:…".
	from string

	// demand is the hash of the ImagePolicies' requirements when the image was read, and signedBy lists the authorities that
	// signed it. Both are empty if nothing was required.
	demand, signedBy string

	// configMap is the ConfigMap that was read, or nil.
	configMap *olm.ConfigMapResourceReference

	// access reads the objects of bundles.
	access access

	// ask adds the location of a bundle's objects to a request. It returns the stored copy of the bundle, or nil.
	ask func(ctx context.Context, request *catalog.Request) (kept io.ReadCloser, err error)

	// accepted is called when the reading comes into use, and done when it is no longer used. Both may be nil.
	accepted func() error
	done     func()
}

func (r *reading) release() {
	if r != nil && r.done != nil {
		r.done()
	}
}

// quiet is embedded in origins that do not report changes.
type quiet struct{}

func (quiet) await(ctx context.Context) { <-ctx.Done() }
func (quiet) close()                    {}
