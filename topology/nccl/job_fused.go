package nccl

import "sync"

// domainModels makes the models of NVLink domains of equal hosts, once for each size.
type domainModels struct {
	host    *XML
	options Options
	alone   *NodeModel

	mu    sync.Mutex
	known map[int]*NodeModel
}

// maxDomainGPUs is where models of domains end: twice the largest NVLink domain that is sold. Larger ones, which are more
// likely a mistake in the map, take the model of that size; the search time grows faster than the size.
const maxDomainGPUs = 144

// of returns the model of n hosts in one domain.
func (d *domainModels) of(n int) *NodeModel {
	n = max(1, min(n, maxDomainGPUs/max(1, d.alone.GPUs)))
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.known[n]; m != nil {
		return m
	}
	m := d.fuse(n)
	if d.known == nil {
		d.known = map[int]*NodeModel{}
	}
	d.known[n] = m
	return m
}

// fuse searches n hosts as one machine; what could not be fused stays the model of one host.
func (d *domainModels) fuse(n int) *NodeModel {
	hosts := make([]*XML, n)
	for i := range hosts {
		hosts[i] = d.host
	}
	x, err := Fuse(hosts...)
	if err != nil {
		return d.alone
	}
	m, err := NewNodeModel(d.alone.Name, x, d.options)
	if err != nil {
		return d.alone
	}
	m.SKU, m.Fused = d.alone.SKU, nil
	return m
}
