package controller

import (
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	cases := map[string]struct {
		reason       string
		h            history
		onlyMessages bool
		want         int64
	}{
		"AfterOLM":     {"OLM has to have left it alone for a while, or it overwrites what we write.", history{at: at(1000), wanting: at(1000)}, false, 1002},
		"AtRest":       {"Where it has there is nothing to wait for.", history{at: at(900), wanting: at(1000)}, false, 902},
		"OLMAgain":     {"When OLM writes again the wait begins anew.", history{at: at(1010), wanting: at(1000)}, false, 1012},
		"Churn":        {"But OLM does not keep us from it for ever.", history{at: at(1029), wanting: at(1000)}, false, 1030},
		"News":         {"What is new is written, however short ago we last wrote.", history{at: at(1000), wanting: at(1000), wrote: at(999)}, false, 1002},
		"Words":        {"The same in other words has time.", history{at: at(1000), wanting: at(1000), wrote: at(999)}, true, 1029},
		"WordsLater":   {"Once that is over, it waits for OLM as everything does.", history{at: at(1000), wanting: at(1000), wrote: at(900)}, true, 1002},
		"WordsFirst":   {"Nor does it wait for what was never written.", history{at: at(1000), wanting: at(1000)}, true, 1002},
		"WordsInChurn": {"OLM's churn hurries nothing that has time.", history{at: at(1029), wanting: at(1000), wrote: at(1010)}, true, 1040},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.h.due(tc.onlyMessages).Unix(); got != tc.want {
				t.Errorf("%s\nit is due at %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
