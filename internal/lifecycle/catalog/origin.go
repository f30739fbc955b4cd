package catalog

import (
	"context"
	"io"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// origin is where the content of a CatalogSource comes from.
type origin interface {
	// read reads the content, unless it is known already: then it returns known. It may return what it had before
	// together with the reason why it cannot be read now.
	read(ctx context.Context, known *reading) (*reading, error)

	// await returns when the content may have changed, or ctx is done.
	await(ctx context.Context)

	// close ends what the origin holds open. Readings stay in use.
	close()
}

// reading is what was read from an origin at one moment.
type reading struct {
	content *Content

	// from names what was read, as in "sha256:…".
	from string

	// demand is what the ImagePolicies demanded of the image when it was read, and signedBy are the authorities that signed it; empty if
	// nothing was demanded.
	demand, signedBy string

	// configMap is the one that was read, where it was one.
	configMap *olm.ConfigMapResourceReference

	// access is for the objects of bundles.
	access access

	// ask completes a request for the objects of a bundle with where the origin has them, and returns what was kept of the bundle; nil
	// for nothing.
	ask func(ctx context.Context, request *Request) (kept io.ReadCloser, err error)

	// accepted is called when the reading becomes the one in use, and done when it no longer is. Both may be nil.
	accepted func() error
	done     func()
}

func (r *reading) release() {
	if r != nil && r.done != nil {
		r.done()
	}
}

// quiet is for origins that never tell of a change.
type quiet struct{}

func (quiet) await(ctx context.Context) { <-ctx.Done() }
func (quiet) close()                    {}
