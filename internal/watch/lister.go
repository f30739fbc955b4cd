package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/observed"
)

const (
	// pageSize is how many objects a Lister reads in one request.
	pageSize = 500

	// pageTimeout is how long one request of a Lister may take.
	pageTimeout = 10 * time.Second
)

// Lister reads custom resources from the API server at the moment of a call. Unlike an Engine it keeps nothing. It is
// safe for concurrent use.
type Lister struct {
	clients clients
}

// NewLister returns a Lister for the API server of the given config.
func NewLister(config *rest.Config) *Lister { return &Lister{newClients(config)} }

// List reads the objects of a target as they are now and judges them. It ends after the first page that has an object
// that blocks: the Counts are then of the objects read so far. Request.Notify is not called.
//
// All pages are of one moment, or List starts over: it returns an error if that takes longer than ctx, any page takes
// longer than 10 s, or the API server refuses a request.
func (l *Lister) List(ctx context.Context, request Request) (observed.Snapshot, error) {
	client, err := l.clients.as(request.Target.Identity)
	if err != nil {
		return observed.Snapshot{}, err
	}
	plan, err := newPlan(request.Terms)
	if err != nil {
		return observed.Snapshot{}, err
	}
	pages := listWatch{target: request.Target, client: client, plan: plan, heard: func() {}}
	for {
		out, err := l.list(ctx, request, pages)
		if !apierrors.IsResourceExpired(err) || ctx.Err() != nil {
			return out, err
		}
	}
}

func (l *Lister) list(ctx context.Context, request Request, pages listWatch) (observed.Snapshot, error) {
	out := observed.Snapshot{Filled: true}
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		page, err := onePage(ctx, pages, options)
		if err != nil {
			return observed.Snapshot{}, err
		}
		for _, read := range page.Items {
			judged := judge(request, read.contents)
			out.Counts = out.Plus(judged.Counts)
			if judged.Blocking > 0 {
				out.Items, out.Omitted = judged.Items, judged.Omitted
				return out, nil
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return out, nil
		}
	}
}

func onePage(ctx context.Context, pages listWatch, options metav1.ListOptions) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	return pages.list(ctx, options)
}

// judge returns the Snapshot that a Subscription has of objects.
func judge(request Request, objects contents) observed.Snapshot {
	s := &source{contents: objects, filled: 1, filledTerms: request.Terms}
	sub := &Subscription{source: s, request: request}
	sub.recount(s)
	return sub.snapshot(s)
}
