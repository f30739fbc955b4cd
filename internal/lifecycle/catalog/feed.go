package catalog

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// feed reads one origin again and again, each time in as long as it takes, and nobody waits for it.
type feed struct {
	origin origin

	// known is what is in use when the feed begins; nil for nothing.
	known *reading

	// every is how often to read what was read well; 0 for only when it changes.
	every time.Duration

	// timeout is how long a try may take.
	timeout time.Duration

	// fits returns an Error if there is no room for a content that was read.
	fits func(*Content) error

	// record is given what each try came to, while ctx lasts. It says whether that was taken.
	record func(*reading, outcome) bool
}

// defaultEvery is how often a registry is read that tells of no change, and anything that is of no use as it is.
const defaultEvery = 15 * time.Minute

// retries are the pauses after tries that failed for what may pass.
var retries = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: 2 * time.Minute}

// run reads until ctx is done.
func (f *feed) run(ctx context.Context) {
	defer f.origin.close()
	backoff := retries
	for {
		r, err := f.read(ctx)
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
		case err.Permanent():
			pause = cmp.Or(f.every, defaultEvery)
		default:
			pause = backoff.Step()
		}
		f.wait(ctx, pause)
	}
}

func (f *feed) read(ctx context.Context) (*reading, *Error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := f.origin.read(ctx, f.known)
	if err == nil && r != f.known {
		if err = f.fits(r.content); err != nil {
			r.release()
			r = f.known
		}
	}
	if err == nil {
		return r, nil
	}
	if ctx.Err() != nil {
		err = Errorf(v1alpha1.ReasonUnreachable, "it was not read within %s: %w", f.timeout, err)
	}
	return r, AsError(err, v1alpha1.ReasonUnreachable)
}

// wait waits until the origin may have changed, but no longer than a pause; 0 is without end.
func (f *feed) wait(ctx context.Context, pause time.Duration) {
	if pause > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pause)
		defer cancel()
	}
	f.origin.await(ctx)
}
