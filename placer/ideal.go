package placer

import (
	"math"
	"strings"
	"sync"
)

// idealCache remembers the optimum on the empty cluster per kind of request. It changes no answer, only its cost.
type idealCache struct {
	mu     sync.Mutex
	values map[idealKey]float64
	levels map[idealKey][]float64
}

type idealKey struct {
	nodes, segment, gpusPerNode int
	within                      int32
	model, pools                string
	collective                  Collective
	weights                     Weights
}

// maxIdeals bounds the cache; beyond it a new key clears it.
const maxIdeals = 4096

// idealShare is the best share that a request of this kind could have with nothing else on the cluster. Excluded and
// included nodes do not count: they are a wish of the caller, not a property of the cluster.
func (p *problem) idealShare(r *Request) float64 {
	key, cache := p.idealKey(r), p.c.ideal
	cache.mu.Lock()
	v, ok := cache.values[key]
	cache.mu.Unlock()
	if ok {
		return v
	}
	v = p.computeIdeal(r)
	cache.mu.Lock()
	if cache.values == nil || len(cache.values) >= maxIdeals {
		cache.values = make(map[idealKey]float64)
	}
	cache.values[key] = v
	cache.mu.Unlock()
	return v
}

func (p *problem) idealKey(r *Request) idealKey {
	key := idealKey{nodes: p.k, segment: p.seg, gpusPerNode: r.GPUsPerNode, within: p.within, model: r.GPUModel, collective: r.collective()}
	if r.Pools != nil {
		key.pools = strings.Join(r.Pools, "\n") + "\n"
	}
	if r.Weights != nil {
		key.weights = *r.Weights
	}
	return key
}

// idealLevels is the best value of every level on the empty cluster, -Inf where the gang does not fit.
func (p *problem) idealLevels(r *Request) []float64 {
	key, cache := p.idealKey(r), p.c.ideal
	cache.mu.Lock()
	out, ok := cache.levels[key]
	cache.mu.Unlock()
	if ok {
		return out
	}
	out = make([]float64, len(p.c.levels))
	for l := range out {
		out[l] = math.Inf(-1)
	}
	e := p.emptied(r)
	values, _ := e.groupValues(e.r)
	for g, v := range values {
		if grp := &p.c.groups[g]; !grp.own {
			out[grp.level] = max(out[grp.level], v)
		}
	}
	cache.mu.Lock()
	if cache.levels == nil || len(cache.levels) >= maxIdeals {
		cache.levels = make(map[idealKey][]float64)
	}
	cache.levels[key] = out
	cache.mu.Unlock()
	return out
}

func (p *problem) computeIdeal(r *Request) float64 {
	q, bare := p.emptied(r), *r
	bare.Tolerance, bare.MinimumShare = 0, 0
	best, err := q.solve(&bare)
	if err != nil {
		return 0
	}
	return best.share
}

// emptied is the same problem on the empty cluster, without the caller's own exclusions.
func (p *problem) emptied(r *Request) *problem {
	q, bare := *p, *r
	bare.Exclude, bare.Include = nil, nil
	q.s, q.mask, q.allow, q.r, q.include = p.c.base, -1, nil, &bare, nil
	q.prepare()
	return &q
}
