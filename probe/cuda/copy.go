//go:build cgo && linux

package cuda

import (
	"context"
	"errors"
	"fmt"
)

const (
	methodCopy   = "cuMemcpyAsync"
	methodStaged = "cuMemcpyAsync through the host"
)

// transfer is one direction of one way, with its own stream.
type transfer struct {
	gpu        *gpu // whose context the copies run in
	to, from   devptr
	stream     handle
	begin, end handle
	seconds    float64
}

// copyStep copies all ways at once and returns bytes per second of each: for bidirectional ones the bytes of both
// directions over the time of the slower.
func (s *rig) copyStep(ctx context.Context, step Step) (results []WayResult, err error) {
	if len(step.Ways) == 0 {
		return nil, errors.New("a copy step must name at least one way")
	}
	var local scope
	defer func() { err = errors.Join(err, local.close()) }()
	used := map[string]int{}
	var transfers []*transfer
	for _, w := range step.Ways {
		results = append(results, WayResult{Way: w, Method: methodCopy})
		r := &results[len(results)-1]
		ways := []Way{w}
		if step.Bidirectional {
			ways = append(ways, Way{From: w.To, To: w.From})
		}
		for _, way := range ways {
			t, direct, err := s.transfer(way, used)
			if err != nil {
				return nil, err
			}
			if !direct {
				r.Method = methodStaged
			}
			transfers = append(transfers, t)
		}
	}
	for _, t := range transfers {
		if err := s.equip(t, &local); err != nil {
			return nil, err
		}
	}
	if err := s.round(ctx, transfers, 1, false); err != nil { // warm-up
		return nil, err
	}
	each, loops := len(transfers)/len(step.Ways), s.plan.Loops
	if step.Loops > 0 {
		loops = step.Loops
	}
	for range s.plan.Samples {
		if err := s.round(ctx, transfers, loops, true); err != nil {
			return nil, err
		}
		for i := range results {
			slowest := 0.0
			for _, t := range transfers[i*each : (i+1)*each] {
				slowest = max(slowest, t.seconds)
			}
			if slowest <= 0 {
				return nil, fmt.Errorf("%s to %s: the events are %g s apart", results[i].From, results[i].To, slowest)
			}
			results[i].Samples = append(results[i].Samples, float64(each*s.plan.Bytes*loops)/slowest)
		}
	}
	return results, nil
}

// transfer finds buffers for one way: no two transfers of a step share one. Direct is false for GPUs without peer access.
func (s *rig) transfer(w Way, used map[string]int) (t *transfer, direct bool, err error) {
	t, direct = &transfer{}, true
	var ends [2]*gpu
	for i, place := range []string{w.From, w.To} {
		buffer := used[place]
		used[place]++
		var p devptr
		if isGPU(place) {
			if ends[i], err = s.gpu(place); err == nil {
				p, err = s.deviceBuffer(ends[i], buffer)
			}
		} else {
			var h handle
			if err = s.anyContext(w); err == nil {
				h, err = s.hostBuffer(place, buffer)
				p = hostAddress(h)
			}
		}
		if err != nil {
			return nil, false, err
		}
		if i == 0 {
			t.from = p
		} else {
			t.to = p
		}
	}
	switch {
	case ends[0] != nil && ends[1] != nil:
		t.gpu = ends[0]
		direct, err = s.peer(ends[0], ends[1])
	case ends[0] != nil:
		t.gpu = ends[0]
	case ends[1] != nil:
		t.gpu = ends[1]
	default:
		return nil, false, fmt.Errorf("%s to %s: one end must be a GPU", w.From, w.To)
	}
	return t, direct, err
}

// anyContext makes the context of the way's GPU current: host memory is allocated through it.
func (s *rig) anyContext(w Way) error {
	for _, place := range []string{w.From, w.To} {
		if isGPU(place) {
			_, err := s.gpu(place)
			return err
		}
	}
	return fmt.Errorf("%s to %s: one end must be a GPU", w.From, w.To)
}

// equip gives a transfer its stream and events, which end with the step.
func (s *rig) equip(t *transfer, local *scope) (err error) {
	if err := s.setCurrent(t.gpu.context); err != nil {
		return err
	}
	if t.stream, err = s.streamCreate(); err != nil {
		return err
	}
	local.add(func() error { return s.streamDestroy(t.stream) })
	for _, e := range []*handle{&t.begin, &t.end} {
		if *e, err = s.eventCreate(); err != nil {
			return err
		}
		local.add(func() error { return s.eventDestroy(*e) })
	}
	return nil
}

// round queues n copies on every transfer behind the flag, lets them go together and waits.
func (s *rig) round(ctx context.Context, transfers []*transfer, n int, timed bool) error {
	storeFlag(s.flag, 0)
	streams := make([]handle, 0, len(transfers))
	err := s.queue(transfers, n)
	for _, t := range transfers {
		streams = append(streams, t.stream)
	}
	storeFlag(s.flag, 1)
	if err == nil && timed {
		s.lookWhileBusy(transfers)
	}
	if err := errors.Join(err, s.wait(ctx, streams)); err != nil || !timed {
		return err
	}
	for _, t := range transfers {
		if err := s.setCurrent(t.gpu.context); err != nil {
			return err
		}
		if t.seconds, err = s.elapsed(t.begin, t.end); err != nil {
			return err
		}
	}
	return nil
}

func (s *rig) queue(transfers []*transfer, n int) error {
	for _, t := range transfers {
		if err := s.setCurrent(t.gpu.context); err != nil {
			return err
		}
		if err := s.hold(t.stream); err != nil {
			return err
		}
		if err := s.eventRecord(t.begin, t.stream); err != nil {
			return err
		}
		for range n {
			if err := s.copy(t.to, t.from, s.plan.Bytes, t.stream); err != nil {
				return err
			}
		}
		if err := s.eventRecord(t.end, t.stream); err != nil {
			return err
		}
	}
	return nil
}

// hold makes a stream wait for the flag. A driver that cannot do that lets it run: the figure is then a little low.
func (s *rig) hold(stream handle) error {
	if !s.blocked {
		return nil
	}
	err := s.waitFlag(stream, s.flag)
	if ce, ok := errors.AsType[*CallError](err); ok && ce.Code == notSupported {
		s.blocked = false
		return nil
	}
	return err
}

// lookWhileBusy calls back once for each GPU while it works.
func (s *rig) lookWhileBusy(transfers []*transfer) {
	if s.opts.Busy == nil {
		return
	}
	for _, t := range transfers {
		if !s.seen[t.gpu.name] {
			s.seen[t.gpu.name] = true
			s.opts.Busy(t.gpu.name)
		}
	}
}
