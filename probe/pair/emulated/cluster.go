package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

const (
	hosts    = 16
	perLeaf  = 4
	leaves   = hosts / perLeaf
	spines   = 2
	hostRate = 50 // Mbit/s
)

// goodput is what TCP delivers of a shaped rate at an MTU of 1500: 1448 of 1514 bytes are payload.
func goodput(mbit float64) float64 { return mbit * 1e6 / 8 * 1448 / 1514 }

// rates are the shaped rates of uplinks in Mbit/s.
type rates struct{ leaf, spine int }

// Idle uplinks carry more than a sweep puts on them; narrow ones are filled by half of their hosts.
var (
	wide   = rates{leaf: 400, spine: 800}
	narrow = rates{leaf: 100, spine: 150}
)

// cluster is one emulated cluster; its namespaces carry the prefix.
type cluster struct{ prefix string }

func (c *cluster) fab() string { return c.prefix + "-fab" }

func (c *cluster) hostNS(h int) string { return fmt.Sprintf("%s-h%d", c.prefix, h) }

func address(h int) string { return fmt.Sprintf("10.77.0.%d", h+1) }

// up makes namespaces, bridges and cables. A failure half-way leaves what down removes.
func (c *cluster) up() error {
	lines := []string{"netns add " + c.fab()}
	for h := range hosts {
		lines = append(lines, "netns add "+c.hostNS(h))
	}
	if err := batch(lines, "ip"); err != nil {
		return err
	}
	bridge := func(name string) []string {
		return []string{"link add " + name + " type bridge", "link set " + name + " addrgenmode none up"}
	}
	lines = bridge("core0")
	for s := range spines {
		lines = append(lines, bridge(fmt.Sprint("spine", s))...)
		lines = append(lines, cable(fmt.Sprint("spine", s), "core0", fmt.Sprint("s", s))...)
	}
	for l := range leaves {
		lines = append(lines, bridge(fmt.Sprint("leaf", l))...)
		lines = append(lines, cable(fmt.Sprint("leaf", l), fmt.Sprint("spine", l*spines/leaves), fmt.Sprint("l", l))...)
	}
	for h := range hosts {
		lines = append(lines, fmt.Sprintf("link add h%d type veth peer name eth0 netns %s", h, c.hostNS(h)),
			fmt.Sprintf("link set h%d addrgenmode none", h), fmt.Sprintf("link set h%d master leaf%d up", h, h/perLeaf))
	}
	if err := batch(lines, "ip", "-n", c.fab()); err != nil {
		return err
	}
	for h := range hosts {
		lines := []string{"link set lo up", "link set eth0 addrgenmode none", "link set eth0 up", fmt.Sprintf("addr add %s/16 dev eth0", address(h))}
		if err := batch(lines, "ip", "-n", c.hostNS(h)); err != nil {
			return err
		}
		if err := c.shapeHost(h, hostRate, hostRate); err != nil {
			return err
		}
	}
	return c.shapeUplinks(wide)
}

// cable joins two bridges; its ends are called up-NAME and dn-NAME. addrgenmode none keeps IPv6 from talking on it.
func cable(low, high, name string) []string {
	return []string{
		fmt.Sprintf("link add up-%s type veth peer name dn-%s", name, name),
		fmt.Sprintf("link set up-%s addrgenmode none", name), fmt.Sprintf("link set dn-%s addrgenmode none", name),
		fmt.Sprintf("link set up-%s master %s up", name, low), fmt.Sprintf("link set dn-%s master %s up", name, high),
	}
}

// tbf is a token bucket: it may let through in one go what the rate moves in 2 ms, and queues 50 ms.
func tbf(dev string, mbit int) string {
	burst := max(16384, mbit*1000000/8/500)
	return fmt.Sprintf("qdisc replace dev %s root tbf rate %dmbit burst %d latency 50ms", dev, mbit, burst)
}

// shapeHost sets the rates of a host's cable: what it sends and what it gets.
func (c *cluster) shapeHost(h, out, in int) error {
	return errors.Join(batch([]string{tbf("eth0", out)}, "tc", "-n", c.hostNS(h)), batch([]string{tbf(fmt.Sprint("h", h), in)}, "tc", "-n", c.fab()))
}

func (c *cluster) shapeUplinks(r rates) error {
	var lines []string
	for l := range leaves {
		lines = append(lines, tbf(fmt.Sprint("up-l", l), r.leaf), tbf(fmt.Sprint("dn-l", l), r.leaf))
	}
	for s := range spines {
		lines = append(lines, tbf(fmt.Sprint("up-s", s), r.spine), tbf(fmt.Sprint("dn-s", s), r.spine))
	}
	return batch(lines, "tc", "-n", c.fab())
}

// shapeLeaf sets the rate of one leaf's uplink.
func (c *cluster) shapeLeaf(l, mbit int) error {
	return batch([]string{tbf(fmt.Sprint("up-l", l), mbit), tbf(fmt.Sprint("dn-l", l), mbit)}, "tc", "-n", c.fab())
}

// down removes the namespaces that are there, and with them everything else.
func (c *cluster) down() error {
	var errs []error
	names := []string{c.fab()}
	for h := range hosts {
		names = append(names, c.hostNS(h))
	}
	for _, n := range names {
		if _, err := os.Stat("/run/netns/" + n); err == nil {
			errs = append(errs, batch([]string{"netns del " + n}, "ip"))
		}
	}
	return errors.Join(errs...)
}

// topology is the map of the cluster, from a static file as an operator would write it, and measured pairs.
func (r rates) topology(pairs ...*topology.PairReport) (*topology.Topology, error) {
	file := fmt.Sprintf(`kind: StaticFabric
speed: %g
switches:
- {name: core0, tier: 2}
- {name: "spine[0-1]", tier: 1, uplinks: [{to: core0, cables: 1, speed: %g}]}
- {name: "leaf[0-1]", tier: 0, uplinks: [{to: spine0, cables: 1, speed: %g}]}
- {name: "leaf[2-3]", tier: 0, uplinks: [{to: spine1, cables: 1, speed: %[3]g}]}
hosts:
`, float64(hostRate)/1000, float64(r.spine)/1000, float64(r.leaf)/1000)
	for l := range leaves {
		file += fmt.Sprintf("- {names: \"h[%02d-%02d]\", leaf: leaf%d, devices: eth0}\n", l*perLeaf, l*perLeaf+perLeaf-1, l)
	}
	f, err := fabric.Static(bytes.NewReader([]byte(file)), "emulated cluster")
	if err != nil {
		return nil, err
	}
	return topology.Build(topology.Input{Fabrics: []*topology.FabricReport{f}, Pairs: pairs}, topology.BuildOptions{})
}
