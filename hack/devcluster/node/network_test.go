package node

import (
	"net"
	"testing"
)

func TestNetworkRanges(t *testing.T) {
	n := Network{N: 117}
	_, all, err := net.ParseCIDR(n.All())
	if err != nil {
		t.Fatal(err)
	}
	_, link, err := net.ParseCIDR(n.Host() + "/24")
	if err != nil {
		t.Fatal(err)
	}
	ranges := []*net.IPNet{link}
	for _, cidr := range []string{n.Pods(), n.Services()} {
		_, r, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		ranges = append(ranges, r)
	}
	for i, r := range ranges {
		if !all.Contains(r.IP) {
			t.Errorf("%s is not in the routed range %s", r, all)
		}
		for _, other := range ranges[:i] {
			if r.Contains(other.IP) || other.Contains(r.IP) {
				t.Errorf("%s and %s overlap", r, other)
			}
		}
	}
	if !link.Contains(net.ParseIP(n.Node())) {
		t.Errorf("%s is not on the link %s", n.Node(), link)
	}
	if first := ranges[2].IP.To4(); net.IPv4(first[0], first[1], first[2], first[3]+1).String() != n.FirstService() {
		t.Errorf("the first address of %s is not %s", ranges[2], n.FirstService())
	}
}

func TestOverlaps(t *testing.T) {
	cases := map[string]struct {
		reason string
		used   string
		want   bool
	}{
		"the same":      {"The range of another cluster overlaps.", "10.117.0.0/16", true},
		"a part":        {"A smaller range within the network overlaps.", "10.117.200.0/24", true},
		"all of 10/8":   {"A larger range around the network overlaps.", "10.0.0.0/8", true},
		"its neighbor":  {"The adjacent range does not overlap.", "10.118.0.0/16", false},
		"another range": {"A different range does not overlap.", "192.168.0.0/16", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, used, err := net.ParseCIDR(tc.used)
			if err != nil {
				t.Fatal(err)
			}
			if got := overlaps(Network{N: 117}, []*net.IPNet{used}); got != tc.want {
				t.Errorf("%s overlaps returned %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestInterfaceNameLength(t *testing.T) {
	const most = 15 // bytes in a name of Linux
	for _, name := range []string{Link("0123456789"), peerPrefix + "0123456789"} {
		if len(name) > most {
			t.Errorf("interface name %s has more than %d characters", name, most)
		}
	}
}
