package watch

import "time"

// Review reviews all sources as if so much time had passed.
func (e *Engine) Review(later time.Duration) {
	for _, s := range e.all() {
		s.review(uptime() + later)
	}
}
