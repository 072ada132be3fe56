//go:build cgo && linux

package cuda

import (
	"context"
	"errors"
	"fmt"
)

const (
	chaseBytes  = 2 << 20 // the ring of pointers: larger than what one thread keeps near
	chaseStride = 128     // one pointer to a cache line
	chaseLoads  = 1 << 18
	smallCopies = 1000

	methodChase = "pointer chase"
	methodSmall = "4-byte cuMemcpyAsync"
)

// chaseText is the kernel: one thread follows n pointers, each load waits for the one before, past the first-level cache.
// The driver compiles it for the GPU at hand; every GPU since Volta can run it.
const chaseText = `.version 6.0
.target sm_70
.address_size 64
.visible .entry chase(.param .u64 start, .param .u32 n, .param .u64 out)
{
	.reg .u64 %p, %o;
	.reg .u32 %i;
	.reg .pred %more;
	ld.param.u64 %p, [start];
	ld.param.u32 %i, [n];
	ld.param.u64 %o, [out];
loop:
	ld.volatile.global.u64 %p, [%p];
	sub.u32 %i, %i, 1;
	setp.ne.u32 %more, %i, 0;
	@%more bra loop;
	st.global.u64 [%o], %p;
	ret;
}
`

// latencyStep measures how long one access from a GPU to memory of a place takes, in seconds.
func (s *rig) latencyStep(ctx context.Context, step Step) ([]WayResult, error) {
	var results []WayResult
	for _, w := range step.Ways {
		r, err := s.latency(ctx, w)
		if err != nil {
			return results, fmt.Errorf("%s to %s: %w", w.From, w.To, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func (s *rig) latency(ctx context.Context, w Way) (r WayResult, err error) {
	var local scope
	defer func() { err = errors.Join(err, local.close()) }()
	r = WayResult{Way: w, Method: methodChase}
	t, base, err := s.chaseEnds(w)
	if err != nil {
		return r, err
	}
	if err := s.equip(t, &local); err != nil {
		return r, err
	}
	kernel, err := s.loadChase(&local)
	if err != nil {
		r.Method = methodSmall
	}
	one := func() error { return s.smallCopies(t) }
	count := smallCopies
	if kernel != nil {
		if err := s.uploadChain(ctx, t, base); err != nil {
			return r, err
		}
		one = func() error { return s.chase(kernel, base, chaseLoads, t.to, t.stream) }
		count = chaseLoads
	}
	for i := 0; i <= s.plan.Samples; i++ { // the first warms up
		if err := s.timed(ctx, t, one); err != nil {
			return r, err
		}
		if i > 0 {
			r.Samples = append(r.Samples, t.seconds/float64(count))
		}
	}
	return r, nil
}

// chaseEnds gives the buffer that is read, at base, and in the transfer a place on the reading GPU for the result.
func (s *rig) chaseEnds(w Way) (*transfer, devptr, error) {
	reader, err := s.gpu(w.From)
	if err != nil {
		return nil, 0, err
	}
	t := &transfer{gpu: reader}
	if t.to, err = s.deviceBuffer(reader, 1); err != nil {
		return nil, 0, err
	}
	if !isGPU(w.To) {
		h, err := s.hostBuffer(w.To, 0)
		t.from = hostAddress(h)
		return t, t.from, err
	}
	owner, err := s.gpu(w.To)
	if err != nil {
		return nil, 0, err
	}
	if t.from, err = s.deviceBuffer(owner, 0); err != nil {
		return nil, 0, err
	}
	if owner == reader {
		return t, t.from, nil
	}
	direct, err := s.peer(reader, owner)
	if err == nil && !direct {
		err = errors.New("the driver allows no direct access")
	}
	return t, t.from, err
}

// loadChase hands the kernel to the driver. An error means that latency is measured without one.
func (s *rig) loadChase(local *scope) (handle, error) {
	m, err := s.moduleLoad(chaseText)
	if err != nil {
		return nil, err
	}
	local.add(func() error { return s.moduleUnload(m) })
	return s.moduleFunction(m, "chase")
}

// uploadChain writes the ring of pointers into the buffer that is read.
func (s *rig) uploadChain(ctx context.Context, t *transfer, base devptr) error {
	var local scope
	defer local.close()
	staging, err := s.hostAlloc(chaseBytes)
	if err != nil {
		return err
	}
	local.add(func() error { return s.hostFree(staging) })
	writeChain(staging, base, chaseBytes, chaseStride)
	if err := s.copy(base, hostAddress(staging), chaseBytes, t.stream); err != nil {
		return err
	}
	return s.wait(ctx, []handle{t.stream})
}

// smallCopies queues many copies of one word.
func (s *rig) smallCopies(t *transfer) error {
	for range smallCopies {
		if err := s.copy(t.to, t.from, 4, t.stream); err != nil {
			return err
		}
	}
	return nil
}

// timed runs what is queued by one between two events.
func (s *rig) timed(ctx context.Context, t *transfer, one func() error) (err error) {
	if err := s.setCurrent(t.gpu.context); err != nil {
		return err
	}
	if err := errors.Join(s.eventRecord(t.begin, t.stream), one(), s.eventRecord(t.end, t.stream)); err != nil {
		return errors.Join(err, s.wait(ctx, []handle{t.stream}))
	}
	if err := s.wait(ctx, []handle{t.stream}); err != nil {
		return err
	}
	t.seconds, err = s.elapsed(t.begin, t.end)
	return err
}
