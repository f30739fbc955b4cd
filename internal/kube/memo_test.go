package kube

import (
	"errors"
	"testing"
)

func TestMemo(t *testing.T) {
	var m Memo[string, int]
	computed := 0
	get := func(during func()) int {
		t.Helper()
		out, err := m.Get("a", func() (int, error) {
			computed++
			during()
			return computed, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	nothing := func() {}
	for _, step := range []struct {
		reason string
		do     func() int
		want   int
	}{
		{"It keeps nothing before its owner watches.", func() int { get(nothing); return get(nothing) }, 2},
		{"Then it keeps a result.", func() int { m.Forget(); get(nothing); return get(nothing) }, 3},
		{"It forgets it when something has changed.", func() int { m.Forget(); return get(nothing) }, 4},
		{"A result that was computed during a change is not kept.", func() int { m.Forget(); get(m.Forget); return get(nothing) }, 6},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s\ngot %d, want %d", step.reason, got, step.want)
		}
	}
	m.Forget()
	if _, err := m.Get("a", func() (int, error) { return 0, errors.New("none") }); err == nil {
		t.Error("the error is lost")
	}
	if got := get(nothing); got != 7 {
		t.Errorf("a failure is kept: %d", got)
	}
}
