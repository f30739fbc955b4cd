package platformoperator

import "testing"

func TestReserved(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, list, namespace string
		want, fails             bool
	}{
		"Name":       {reason: "A listed name matches.", list: "kube-*, default", namespace: "default", want: true},
		"Pattern":    {reason: "A star matches any characters.", list: "kube-*,default", namespace: "kube-system", want: true},
		"Other":      {reason: "A name that is not listed does not match.", list: "kube-*,default", namespace: "defaulted"},
		"Empty":      {reason: "An empty list matches nothing.", list: "", namespace: "default"},
		"NoPattern":  {reason: "An invalid pattern is an error.", list: "kube-[", fails: true},
		"OnlyCommas": {reason: "Empty entries are ignored.", list: ",,", namespace: ""},
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
