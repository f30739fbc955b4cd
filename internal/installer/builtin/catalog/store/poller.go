package store

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// poller reads one origin repeatedly in the background.
type poller struct {
	origin origin

	// known is the reading in use when the poller starts, or nil.
	known *reading

	// every is the interval between successful reads; 0 means to read only after a change.
	every time.Duration

	// limit limits how often the origin is read, however often it changes, or a registry connects and disconnects.
	limit *rate.Limiter

	// timeout limits one attempt.
	timeout time.Duration

	// fits returns an Error if the content exceeds a limit for memory or disk.
	fits func(*reading) error

	// record is called with the result of each attempt. It returns false if the poller has been replaced, and must stop.
	record func(*reading, outcome) bool
}

// defaultEvery is the interval for registries that do not report changes, and after a permanent error.
const defaultEvery = 15 * time.Minute

// unfitEvery is the minimum interval after a content that exceeded a limit together with others. It is pulled again then.
const unfitEvery = time.Minute

// newLimit returns the limit of a poller: the first reads follow changes at once, so a few edits in a row are seen.
func newLimit(trusted bool) *rate.Limiter {
	const atOnce = 5
	if trusted {
		return rate.NewLimiter(rate.Every(shortestEvery), atOnce)
	}
	return rate.NewLimiter(rate.Every(shortestUntrusted), atOnce)
}

// retries is the backoff after errors. Permanent ones have it, too, since each read of an image that is no catalog starts a process.
var retries = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: 2 * time.Minute}

// run reads until ctx is done.
func (f *poller) run(ctx context.Context) {
	defer f.origin.close()
	backoff := retries
	for f.limit.Wait(ctx) == nil {
		r, unfit, err := f.read(ctx)
		if !f.record(r, outcome{err: err, at: time.Now()}) {
			if r != f.known {
				r.release()
			}
			return
		}
		f.known = r
		pause := f.every
		switch {
		case err == nil:
			backoff = retries
		case unfit:
			pause = max(f.every, unfitEvery)
		case err.Permanent():
			pause = max(cmp.Or(f.every, defaultEvery), backoff.Step())
		default:
			pause = backoff.Step()
		}
		f.wait(ctx, pause)
	}
}

// read returns the new reading, or the known one with an Error. unfit is true if new content exceeds a limit together
// with others.
func (f *poller) read(ctx context.Context) (r *reading, unfit bool, failure *catalog.Error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := f.origin.read(ctx, f.known)
	if err == nil && r != f.known {
		if err = f.fits(r); err != nil {
			r.release()
			r, unfit = f.known, true
		}
	}
	if err == nil {
		return r, false, nil
	}
	if ctx.Err() != nil {
		err = catalog.Errorf(v1alpha1.ReasonUnreachable, "it was not read within %s: %w", f.timeout, err)
	}
	return r, unfit, catalog.AsError(err, v1alpha1.ReasonUnreachable)
}

// wait blocks until the origin may have changed, but no longer than pause; 0 means no limit.
func (f *poller) wait(ctx context.Context, pause time.Duration) {
	if pause > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pause)
		defer cancel()
	}
	f.origin.await(ctx)
}
