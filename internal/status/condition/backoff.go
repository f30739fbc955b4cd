package condition

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackOff returns when to retry after a problem that a user has to fix: a permission, a quota, or an object that the API
// server rejects. The interval is as long as the problem has lasted, between a second and ten minutes, since not every fix
// causes an event. The time since is nil if the problem is new.
func BackOff(since *metav1.Time, now time.Time) time.Duration {
	if since == nil {
		return time.Second
	}
	return min(max(now.Sub(since.Time), time.Second), 10*time.Minute)
}

// MessageInterval is the minimum time between writes of a status whose messages alone change, as they do with every pod of an
// operator that starts.
const MessageInterval = 3 * time.Second
