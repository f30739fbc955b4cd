package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
	"github.com/operator-status/operator-status/internal/messages"
)

// access reads the content of one CatalogSource and of its bundles.
type access struct {
	readers *readers
	secrets pullSecrets
	limits  catalog.Limits
	route   route
	signing signing
}

// conversation is an exchange with a process that answers one request.
type conversation struct {
	process *sandbox.Process

	// image is the image to read, or empty. policies are the ImagePolicies that apply to it.
	image    string
	policies []policyv1alpha1.ImagePolicy
}

func (c *conversation) send(v any) error { return c.process.Send(v) }

func (c *conversation) scratch() *os.File { return c.process.Scratch }

// ask sends a request to a confined process and calls take with each answer except the last.
func (a access) ask(ctx context.Context, request catalog.Request, kept io.Reader, take func(*conversation, catalog.Answer) error) error {
	request.Limits, request.RequireDigests = a.limits, a.route.RequireDigests
	if request.Image != "" || request.Bundle != nil {
		request.PullSecrets, request.PullSecretProblems = a.secrets.read(ctx)
	}
	image := imageOf(request)
	var policies []policyv1alpha1.ImagePolicy
	if image != "" {
		var err error
		if policies, err = a.signing.of(ctx, image); err != nil {
			return err
		}
		if err := a.readers.answering.await(ctx, image, a.route); err != nil {
			return err
		}
		registry, err := a.route.registry(image)
		request.Plaintext = err == nil && registry.Scheme() == "http"
		request.Signatures = len(policies) > 0
	}
	return a.readers.with(ctx, a.route, func(p *sandbox.Process) (reusable bool, err error) {
		if err := prepareScratch(p.Scratch, kept, &request); err != nil {
			return false, err
		}
		c := &conversation{p, image, policies}
		if err := c.send(request); err != nil {
			return false, unanswered(err)
		}
		p.Expect(a.limits.Kept + 2*a.limits.Bundle) // the packages, or the objects of a bundle as JSON
		return c.receiveAnswers(take)
	})
}

// imageOf returns the image that a request always pulls, or the empty string.
func imageOf(request catalog.Request) string {
	if b := request.Bundle; b != nil && !b.Inlined {
		return b.Image
	}
	return request.Image
}

// receiveAnswers receives answers up to the last one. ended reports whether that arrived: the process can then be reused.
func (c *conversation) receiveAnswers(take func(*conversation, catalog.Answer) error) (ended bool, err error) {
	for {
		var a catalog.Answer
		if err := c.process.Receive(&a); err != nil {
			return false, unanswered(err)
		}
		switch {
		case a.Failure != nil:
			return true, catalog.Errorf(a.Failure.Reason, "%s", a.Failure.Message)
		case a.Done:
			return true, nil
		case a.Resolved != nil:
			if err := c.verify(a.Resolved); err != nil {
				return false, err
			}
		}
		if err := take(c, a); err != nil {
			return false, err
		}
	}
}

// verify verifies the signatures of an image before any of its content is read.
func (c *conversation) verify(r *catalog.Resolved) (err error) {
	r.SignedBy, err = verify(c.image, r.Digest, r.Signatures, c.policies)
	return err
}

// unanswered turns an error of the reader process into an error of the catalog or bundle.
func unanswered(err error) error {
	if over, ok := errors.AsType[*sandbox.MemoryError](err); ok {
		return catalog.Errorf(v1alpha1.ReasonTooLarge, "to read it, %w", over)
	}
	if errors.Is(err, sandbox.ErrTooMuch) {
		return catalog.Errorf(v1alpha1.ReasonTooLarge, "its metadata is larger than the limit")
	}
	return err
}

// prepareScratch replaces the content of the scratch file with the kept copy of a bundle, if any.
func prepareScratch(scratch *os.File, kept io.Reader, request *catalog.Request) error {
	if err := scratch.Truncate(0); err != nil {
		return fmt.Errorf("emptying the scratch file: %w", err)
	}
	if kept == nil {
		return nil
	}
	if _, err := scratch.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("writing the scratch file: %w", err)
	}
	n, err := io.Copy(scratch, kept)
	if err != nil {
		return fmt.Errorf("writing the scratch file: %w", err)
	}
	request.Bundle.Kept = n
	return nil
}

// Manifests holds the objects of a bundle.
type Manifests struct {
	// Digest of the objects' image. It is empty if the catalog contains them.
	Digest string

	// SignedBy lists the authorities that signed the image, if an ImagePolicy requires a signature.
	SignedBy string

	bundle string
	texts  []json.RawMessage // the objects as JSON: several times smaller than decoded
}

// Size returns the size of the objects as JSON, in bytes.
func (m *Manifests) Size() (bytes int64) {
	for _, t := range m.texts {
		bytes += int64(len(t))
	}
	return bytes
}

// Objects decodes the objects. Unless exactly one of them is a ClusterServiceVersion, and it has the name of the
// bundle, it returns an Error.
func (m *Manifests) Objects() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, t := range m.texts {
		var fields map[string]any
		if err := utiljson.Unmarshal(t, &fields); err != nil {
			return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle %s: an object: %w", m.bundle, err)
		}
		out = append(out, &unstructured.Unstructured{Object: fields})
	}
	return out, oneCSV(m.bundle, out)
}

// manifests reads the objects of a bundle.
func (r *reading) manifests(ctx context.Context, b *catalog.Bundle) (*Manifests, error) {
	request := catalog.Request{Bundle: &catalog.BundleRequest{Package: b.Package, Name: b.Name, Image: b.Image, Inlined: b.Inlined || b.Image == ""}}
	var kept io.Reader
	if request.Bundle.Inlined {
		found, err := r.ask(ctx, &request)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
		if found != nil {
			defer func() { _ = found.Close() }() // only read
			kept = found
		}
	}
	out := &Manifests{bundle: b.Name}
	err := r.access.ask(ctx, request, kept, func(c *conversation, a catalog.Answer) error {
		if a.Resolved != nil {
			out.Digest, out.SignedBy = a.Resolved.Digest, a.Resolved.SignedBy
			return c.send(catalog.Verdict{Read: true})
		}
		out.texts = append(out.texts, a.Object)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	return out, nil
}

// oneCSV returns an Error unless exactly one of a bundle's objects is a ClusterServiceVersion, and it has the name of
// the bundle.
func oneCSV(bundle string, objects []*unstructured.Unstructured) error {
	const kind = "ClusterServiceVersion"
	var csvs []string
	for _, o := range objects {
		if o.GetKind() == kind {
			csvs = append(csvs, o.GetName())
		}
	}
	switch {
	case len(csvs) == 0:
		return catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle %s has no ClusterServiceVersion among its %d objects: it needs exactly one", bundle, len(objects))
	case len(csvs) > 1:
		return catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle %s has %d ClusterServiceVersions (%s): it needs exactly one", bundle, len(csvs),
			messages.List(csvs, 5, ", "))
	case csvs[0] != bundle:
		return catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle %s has a ClusterServiceVersion of another name: %s", bundle, csvs[0])
	}
	return nil
}
