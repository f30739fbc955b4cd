// Package waves does at once what does not depend on each other, and one after the other what does.
package waves

import "golang.org/x/sync/errgroup"

// width is how much is done at once. The API server answers several in the time of two; more only queue up there.
const width = 8

// Each does something with every item: those of one wave at once, the waves in order of the items. A wave that fails is the
// last one. The error is that of its first item which failed, so that the same failures are told in the same words.
func Each[T any, W comparable](items []T, wave func(T) W, do func(T) error) error {
	for len(items) > 0 {
		end := 1
		for end < len(items) && wave(items[end]) == wave(items[0]) {
			end++
		}
		if err := atOnce(items[:end], do); err != nil {
			return err
		}
		items = items[end:]
	}
	return nil
}

func atOnce[T any](items []T, do func(T) error) error {
	failures := make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(width)
	for i, item := range items {
		group.Go(func() error {
			failures[i] = do(item)
			return nil
		})
	}
	_ = group.Wait() // they are in failures
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
