package node

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Network is the address plan of a cluster with a real node: 10.N.0.0/16. The machine and the node are the two ends of
// a link, and the machine has a route through it to all pods and Services.
type Network struct{ N int }

// Host returns the address by which the node and its pods reach this machine.
func (n Network) Host() string { return fmt.Sprintf("10.%d.0.1", n.N) }

// Node returns the address of the node.
func (n Network) Node() string { return fmt.Sprintf("10.%d.0.2", n.N) }

// All returns the range that contains all others.
func (n Network) All() string { return fmt.Sprintf("10.%d.0.0/16", n.N) }

// Pods returns the range of the pods.
func (n Network) Pods() string { return fmt.Sprintf("10.%d.64.0/18", n.N) }

// Services returns the range of the Services.
func (n Network) Services() string { return fmt.Sprintf("10.%d.128.0/17", n.N) }

// FirstService returns the address of the Service of the API server.
func (n Network) FirstService() string { return fmt.Sprintf("10.%d.128.1", n.N) }

const (
	firstN, lastN = 100, 250
	linkPrefix    = "dc"
	peerPrefix    = "dn" // of the other end, until it is in the node
	insideName    = "eth0"
)

// Link returns the name of the network interface by which this machine reaches the node with an ID.
func Link(id string) string { return linkPrefix + id }

// Claim creates the link of a node, with addresses that nothing on this machine uses. Two clusters cannot claim the
// same addresses, since a route can be added only once.
func Claim(id string) (Network, error) {
	used, err := usedRanges()
	if err != nil {
		return Network{}, err
	}
	seed := fnv.New32a()
	_, _ = seed.Write([]byte(id))
	const choices = lastN - firstN + 1
	for i := range choices {
		n := Network{N: firstN + (int(seed.Sum32()%choices)+i)%choices}
		if overlaps(n, used) {
			continue
		}
		err := connect(id, n)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, syscall.EEXIST) {
			return Network{}, errors.Join(fmt.Errorf("connecting the node with this machine: %w", err), Disconnect(id))
		}
		if err := Disconnect(id); err != nil {
			return Network{}, err
		}
	}
	return Network{}, fmt.Errorf("connecting the node with this machine: every range from 10.%d.0.0/16 to 10.%d.0.0/16 is in use", firstN, lastN)
}

// usedRanges returns the ranges to which this machine has a route, except default routes.
func usedRanges() ([]*net.IPNet, error) {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{}, netlink.RT_FILTER_TABLE) // of all tables
	if err != nil {
		return nil, fmt.Errorf("listing the routes of this machine: %w", err)
	}
	var used []*net.IPNet
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		if ones, _ := route.Dst.Mask.Size(); ones > 0 {
			used = append(used, route.Dst)
		}
	}
	return used, nil
}

func overlaps(n Network, used []*net.IPNet) bool {
	_, all, _ := net.ParseCIDR(n.All())
	for _, r := range used {
		if all.Contains(r.IP) || r.Contains(all.IP) {
			return true
		}
	}
	return false
}

// connect creates the link and the route. It fails with EEXIST if the route exists.
func connect(id string, n Network) error {
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: Link(id)}, PeerName: peerPrefix + id}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("creating interface %s: %w", link.Name, err)
	}
	if err := netlink.AddrAdd(link, address(n.Host())); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", link.Name, n.Host(), err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", link.Name, err)
	}
	_, all, _ := net.ParseCIDR(n.All())
	route := &netlink.Route{LinkIndex: link.Index, Dst: all, Gw: net.ParseIP(n.Node())}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("adding a route to %s: %w", all, err)
	}
	return nil
}

// Join moves the other end of the link into the network namespace of a node and configures it.
func Join(id string, n Network, pid int) error {
	peer, err := netlink.LinkByName(peerPrefix + id)
	if err != nil {
		return fmt.Errorf("finding interface %s: %w", peerPrefix+id, err)
	}
	if err := netlink.LinkSetNsPid(peer, pid); err != nil {
		return fmt.Errorf("moving interface %s to the node: %w", peerPrefix+id, err)
	}
	space, err := netns.GetFromPid(pid)
	if err != nil {
		return fmt.Errorf("opening the network of the node: %w", err)
	}
	defer func() { _ = space.Close() }()
	inside, err := netlink.NewHandleAt(space)
	if err != nil {
		return fmt.Errorf("opening the network of the node: %w", err)
	}
	defer inside.Close()
	return configure(inside, id, n)
}

func configure(inside *netlink.Handle, id string, n Network) error {
	lo, err := inside.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the node's lo: %w", err)
	}
	eth, err := inside.LinkByName(peerPrefix + id)
	if err != nil {
		return fmt.Errorf("finding the node's %s: %w", insideName, err)
	}
	for _, step := range []func() error{
		func() error { return inside.LinkSetUp(lo) },
		func() error { return inside.LinkSetName(eth, insideName) },
		func() error { return inside.AddrAdd(eth, address(n.Node())) },
		func() error { return inside.LinkSetUp(eth) },
		func() error {
			return inside.RouteAdd(&netlink.Route{LinkIndex: eth.Attrs().Index, Gw: net.ParseIP(n.Host())})
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("configuring the network of the node: %w", err)
		}
	}
	return nil
}

// Connected reports whether the link of a node exists.
func Connected(id string) bool {
	_, err := net.InterfaceByName(Link(id))
	return err == nil
}

// Disconnect removes the link of a node, if any, and with it its addresses and routes.
func Disconnect(id string) error {
	for _, name := range []string{Link(id), peerPrefix + id} { // either end removes both
		link, err := net.InterfaceByName(name)
		if err != nil {
			continue
		}
		err = netlink.LinkDel(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, Index: link.Index}})
		if err != nil && !errors.Is(err, syscall.ENODEV) {
			return fmt.Errorf("removing interface %s: %w", name, err)
		}
	}
	return nil
}

func address(ip string) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip).To4(), Mask: net.CIDRMask(24, 32)}}
}
