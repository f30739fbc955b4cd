package catalog

import (
	"io"
	"net/http"
	"strings"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// largestAnswer is how many bytes an answer of a registry may have that is no content: a manifest, a token, a refusal. The
// specification has registries take manifests of 4 MiB; the client would read any refusal, and manifests of 100 MiB.
const largestAnswer = 4 << 20

// bounded bounds what is read of an answer. Content is bounded where it is unpacked.
type bounded struct{ http.RoundTripper }

// RoundTrip does a request.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err == nil && (answer.StatusCode >= http.StatusMultipleChoices || !asksForContent(request)) {
		answer.Body = &boundedBody{answer.Body, largestAnswer}
	}
	return answer, err
}

// asksForContent reports whether a request, or the one that was redirected to it, is for the content of an image.
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

// Read reads as long as the answer is not too large.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, failure(v1alpha1.ReasonTooLarge, "what the registry answers is larger than the limit of %s", size(largestAnswer))
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
