package reader

import (
	"io"
	"net/http"
	"strings"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// largestAnswer limits the size in bytes of a response other than a blob: a manifest, a token, an error. The
// distribution specification requires registries to accept manifests of 4 MiB. The client library reads manifests of up
// to 100 MiB, and errors of any size.
const largestAnswer = 4 << 20

// bounded limits the size of responses, except of blobs: those are limited when they are unpacked.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err == nil && (answer.StatusCode >= http.StatusMultipleChoices || !asksForContent(request)) {
		answer.Body = &boundedBody{answer.Body, largestAnswer}
	}
	return answer, err
}

// asksForContent reports whether a request, or the one that was redirected to it, is for a blob.
func asksForContent(request *http.Request) bool {
	for request.Response != nil && request.Response.Request != nil {
		request = request.Response.Request
	}
	return strings.Contains(request.URL.Path, "/blobs/")
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read returns an Error with reason TooLarge after largestAnswer bytes.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, catalog.Errorf(v1alpha1.ReasonTooLarge, "the registry's response is larger than the limit of %s", messages.Size(largestAnswer))
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
