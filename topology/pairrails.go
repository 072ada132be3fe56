package topology

import (
	"cmp"
	"slices"
)

// measuredRails sets the measured bandwidth of host links from pairs that were measured rail by rail: the best that any
// partner saw, as for nodes. A node whose slowest rail is slow is slow: a collective is spread evenly over the rails.
func (b *builder) measuredRails(t *Topology, levels *levelFinder) {
	type end struct{ node, rail int }
	best := map[end]*Measurement{}
	for _, r := range b.in.Pairs {
		for _, p := range r.Pairs {
			if p.Rail == nil || p.Loaded || p.BandwidthBytesPerSecond == nil || !b.usable(p, r, levels) {
				continue
			}
			for _, name := range []string{p.A, p.B} {
				k := end{levels.node[name], *p.Rail}
				if m := best[k]; m == nil || p.BandwidthBytesPerSecond.Value > m.Value {
					best[k] = p.BandwidthBytesPerSecond
				}
			}
		}
	}
	if len(best) == 0 {
		return
	}
	links := map[LinkEnd]*Link{}
	for i := range t.Links {
		links[t.Links[i].A] = &t.Links[i]
	}
	keys := make([]end, 0, len(best))
	for k := range best {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y end) int { return cmp.Or(x.node-y.node, x.rail-y.rail) })
	for _, k := range keys {
		n := &t.Nodes[k.node]
		i := slices.IndexFunc(n.NICs, func(c NodeNIC) bool { return c.Rail != nil && *c.Rail == k.rail })
		if i >= 0 {
			b.measuredRail(n, &n.NICs[i], links[LinkEnd{Node: n.Name, Device: n.NICs[i].Device}], best[k], bestMeasured(t))
		}
	}
}

// measuredRail judges one NIC; top is what healthy NICs reach in shares of nominal. A value above nominal changes nothing.
func (b *builder) measuredRail(n *Node, c *NodeNIC, l *Link, m *Measurement, top float64) {
	nominal := c.NominalBandwidthBytesPerSecond
	if nominal == 0 || m.Value > 1.05*nominal {
		return
	}
	health := min(1, m.Value/(nominal*top))
	slow := health < 0.9
	if l != nil {
		l.MeasuredBandwidthBytesPerSecond, l.State = m, OK
		if l.Health != nil {
			health = min(health, *l.Health)
		}
		l.Health = &health
	}
	c.State = OK
	if !slow {
		return
	}
	c.State = Degraded
	if l != nil {
		l.State = Degraded
	}
	if n.Share == nil || health < *n.Share {
		n.Share, n.Limiting, n.State = &health, c.Device, Degraded
	}
	b.find("slow-nic", Warning, n.Name+"/"+c.Device, "check this NIC and its cable to the leaf; NCCL can leave it out (railmap export nccl)",
		"reaches %s with its best partner: %.0f %% of what other NICs reach", gbit(m.Value), 100*health)
}
