package probe

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/railmap/railmap/topology"
	"golang.org/x/sys/unix"
)

const (
	// copyBytes is the memory that all threads of a node copy in one sample: larger than any last-level cache.
	copyBytes = 512 << 20
	// maxCopyThreads is enough to fill the memory channels of one socket.
	maxCopyThreads = 32
	copySamples    = 5
	copyMethod     = "memcpy"
)

// measureMemory copies memory on each NUMA node with threads that stay on its CPUs, so that pages and threads are local.
// Bytes count once: a copy of 1 GiB in 1 s is 1 GiB/s.
func measureMemory(ctx context.Context, nodes []topology.NUMANode) ([]topology.MemoryBandwidth, error) {
	var out []topology.MemoryBandwidth
	for _, n := range nodes {
		cpus, err := ParseCPUList(n.CPUs)
		if err != nil {
			return out, err
		}
		cpus = allowed(cpus)
		if len(cpus) == 0 {
			continue // a node with memory only, or one that this process may not use
		}
		samples, err := copyOn(ctx, cpus)
		if err != nil {
			return out, fmt.Errorf("copy memory on NUMA node %d: %w", n.ID, err)
		}
		out = append(out, topology.MemoryBandwidth{NUMANode: n.ID, BandwidthBytesPerSecond: summarize(samples, copyMethod)})
	}
	return out, nil
}

// allowed keeps the CPUs on which this process may run.
func allowed(cpus []int) []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return cpus
	}
	var ok []int
	for _, c := range cpus {
		if set.IsSet(c) {
			ok = append(ok, c)
		}
	}
	return ok
}

// copyOn returns the bandwidth of each sample in bytes per second.
func copyOn(ctx context.Context, cpus []int) ([]float64, error) {
	if len(cpus) > maxCopyThreads {
		cpus = cpus[:maxCopyThreads]
	}
	size := copyBytes / len(cpus)
	workers := make([]*copyWorker, len(cpus))
	var group sync.WaitGroup
	defer group.Wait()
	for i, cpu := range cpus {
		w := &copyWorker{cpu: cpu, size: size, ready: make(chan error, 1), start: make(chan struct{}), done: make(chan struct{})}
		workers[i] = w
		group.Go(w.run)
		defer close(w.start)
	}
	for _, w := range workers {
		if err := <-w.ready; err != nil {
			return nil, err
		}
	}
	samples := make([]float64, 0, copySamples)
	for range copySamples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		for _, w := range workers {
			w.start <- struct{}{}
		}
		for _, w := range workers {
			<-w.done
		}
		samples = append(samples, float64(size*len(workers))/time.Since(began).Seconds())
	}
	return samples, nil
}

// copyWorker copies on one CPU each time it is told to start.
type copyWorker struct {
	cpu, size   int
	ready       chan error
	start, done chan struct{}
}

// run never unlocks its thread: Go ends a locked thread with its goroutine, and the pinning with it.
func (w *copyWorker) run() {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(w.cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		w.ready <- fmt.Errorf("pin a thread to cpu %d: %w", w.cpu, err)
		return
	}
	buf, err := unix.Mmap(-1, 0, 2*w.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		w.ready <- fmt.Errorf("map %d bytes: %w", 2*w.size, err)
		return
	}
	defer unix.Munmap(buf)
	for i := 0; i < len(buf); i += 4096 {
		buf[i] = 1 // the first touch decides on which node the page lives
	}
	src, dst := buf[:w.size], buf[w.size:]
	copy(dst, src)
	w.ready <- nil
	for range w.start {
		copy(dst, src)
		w.done <- struct{}{}
	}
}
