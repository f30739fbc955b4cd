package apply

import "golang.org/x/sync/errgroup"

// width is how many items run concurrently. The API server serves several requests in the time of two; more only queue
// up there.
const width = 8

// InPhases calls do for every item. Consecutive items of one phase run concurrently, phases in the order of the items. It
// stops after the first phase that fails. The error is that of its first failed item in order, so the same failures yield
// the same message.
func InPhases[T any, P comparable](items []T, phase func(T) P, do func(T) error) error {
	for len(items) > 0 {
		end := 1
		for end < len(items) && phase(items[end]) == phase(items[0]) {
			end++
		}
		if err := runConcurrently(items[:end], do); err != nil {
			return err
		}
		items = items[end:]
	}
	return nil
}

func runConcurrently[T any](items []T, do func(T) error) error {
	failures := make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(width)
	for i, item := range items {
		group.Go(func() error {
			failures[i] = do(item)
			return nil
		})
	}
	_ = group.Wait() // always nil: errors are in failures
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
