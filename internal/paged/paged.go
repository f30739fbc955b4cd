// Package paged reads lists from the API server in pages, each with a deadline. A worker that lists a kind whose
// conversion webhook does not answer, or which has very many objects, waits no longer than that.
package paged

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// size is how many objects one request reads.
	size = 500

	// timeout is how long one request may take.
	timeout = 10 * time.Second

	// attempts is how often a list is started whose pages expire before the last one is read.
	attempts = 3
)

// Reader is a Reader of the API server whose lists are read in pages.
type Reader struct{ client.Reader }

// List reads all objects that match, or one page if options limit it. All pages are of one moment.
func (r Reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return read(ctx, r.Reader, list, options)
}

// Client is a client of the API server whose lists are read in pages.
type Client struct{ client.WithWatch }

// List reads all objects that match, or one page if options limit it. All pages are of one moment.
func (c Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return read(ctx, c.WithWatch, list, options)
}

func read(ctx context.Context, from client.Reader, list client.ObjectList, options []client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	if o.Limit > 0 {
		return page(ctx, from, list, o)
	}
	o.Limit = size
	empty := list.DeepCopyObject().(client.ObjectList)
	var err error
	for range attempts {
		o.Continue = ""
		if err = all(ctx, from, list, empty, o); !apierrors.IsResourceExpired(err) {
			return err
		}
	}
	return err
}

// all reads each page into a copy of an empty list: decoding into a list that is not empty keeps parts of it.
func all(ctx context.Context, from client.Reader, list, empty client.ObjectList, o *client.ListOptions) error {
	var items []runtime.Object
	for {
		next := empty.DeepCopyObject().(client.ObjectList)
		if err := page(ctx, from, next, o); err != nil {
			return err
		}
		more, err := meta.ExtractList(next)
		if err != nil {
			return fmt.Errorf("reading a page of a list: %w", err)
		}
		items = append(items, more...)
		if o.Continue = next.GetContinue(); o.Continue != "" {
			continue
		}
		list.SetResourceVersion(next.GetResourceVersion()) // the same of all pages
		if err := meta.SetList(list, items); err != nil {
			return fmt.Errorf("joining the pages of a list: %w", err)
		}
		return nil
	}
}

func page(ctx context.Context, from client.Reader, list client.ObjectList, o *client.ListOptions) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return from.List(ctx, list, o)
}
