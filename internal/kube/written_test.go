package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWritten(t *testing.T) {
	at := func(version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "one", ResourceVersion: version}}
	}
	for name, tc := range map[string]struct {
		reason  string
		written string
		cached  string
		want    bool
	}{
		"Never":     {reason: "The cache is not behind for an object that was never written.", cached: "7"},
		"Before":    {reason: "The cache is behind if its version is older than the written one.", written: "10", cached: "9", want: true},
		"Same":      {reason: "The cache is not behind if it has the written version.", written: "10", cached: "10"},
		"Later":     {reason: "The cache is not behind if it has a later version, written by another client.", written: "10", cached: "11"},
		"NoNumbers": {reason: "The cache is not behind if the versions cannot be compared.", written: "abc", cached: "7"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Written{}
			if tc.written != "" {
				w.Note(at(tc.written))
			}
			for range 2 {
				if got := w.Behind(at(tc.cached)); got != tc.want {
					t.Errorf("%s\nbehind: %v", tc.reason, got)
				}
			}
			if _, kept := w.versions[at("").UID]; kept != tc.want {
				t.Errorf("kept: %v, want the entry only while the cache is behind", kept)
			}
		})
	}
}

// TestWrittenForgets verifies that entries of deleted objects are dropped.
func TestWrittenForgets(t *testing.T) {
	w := &Written{}
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "gone", ResourceVersion: "1"}}
	w.Note(gone)
	w.versions["gone"] = write{"1", time.Now().Add(-2 * lag)}
	w.swept = time.Now().Add(-2 * lag)
	w.Note(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "other", ResourceVersion: "2"}})
	if _, kept := w.versions["gone"]; kept || len(w.versions) != 1 {
		t.Errorf("kept %v", w.versions)
	}
}
