package platformoperator

import "testing"

func TestReserved(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, list, namespace string
		want, fails             bool
	}{
		"Name":       {reason: "A name means itself.", list: "kube-*, default", namespace: "default", want: true},
		"Pattern":    {reason: "A star stands for anything.", list: "kube-*,default", namespace: "kube-system", want: true},
		"Other":      {reason: "What is not listed is open.", list: "kube-*,default", namespace: "defaulted"},
		"Empty":      {reason: "An empty list reserves nothing.", list: "", namespace: "default"},
		"NoPattern":  {reason: "What can never match is a mistake.", list: "kube-[", fails: true},
		"OnlyCommas": {reason: "What is between commas may be empty.", list: ",,", namespace: ""},
	} {
		t.Run(name, func(t *testing.T) {
			reserved, err := ParseReserved(tc.list)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if got := reserved.Has(tc.namespace); got != tc.want {
				t.Errorf("%s: %q has %q: %v", tc.reason, tc.list, tc.namespace, got)
			}
		})
	}
}
