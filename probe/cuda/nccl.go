//go:build cgo && linux

package cuda

/*
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The part of NCCL's interface that an all-reduce in one process needs (values have been stable since NCCL 2.0).
typedef struct {
	void *lib;
	int (*version)(int *);
	int (*init_all)(void **, int, const int *);
	int (*destroy)(void *);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
	const char *(*error)(int);
} railmap_nccl;

static const char *railmap_nccl_load(railmap_nccl *a, const char *path) {
	a->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!a->lib) return dlerror();
	struct { void **to; const char *name; } calls[] = {
		{(void **)&a->version, "ncclGetVersion"}, {(void **)&a->init_all, "ncclCommInitAll"}, {(void **)&a->destroy, "ncclCommDestroy"},
		{(void **)&a->group_start, "ncclGroupStart"}, {(void **)&a->group_end, "ncclGroupEnd"},
		{(void **)&a->all_reduce, "ncclAllReduce"}, {(void **)&a->error, "ncclGetErrorString"},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!(*calls[i].to = dlsym(a->lib, calls[i].name))) return calls[i].name;
	return NULL;
}
static int railmap_nccl_version(railmap_nccl *a, int *v) { return a->version(v); }
static int railmap_nccl_init(railmap_nccl *a, void **comms, int n, const int *devices) { return a->init_all(comms, n, devices); }
static int railmap_nccl_destroy(railmap_nccl *a, void *comm) { return a->destroy(comm); }
static int railmap_nccl_start(railmap_nccl *a) { return a->group_start(); }
static int railmap_nccl_end(railmap_nccl *a) { return a->group_end(); }
// railmap_nccl_sum adds float32 (type 7) in place by sum (0).
static int railmap_nccl_sum(railmap_nccl *a, uint64_t buffer, size_t count, void *comm, void *stream) {
	void *p = (void *)(uintptr_t)buffer;
	return a->all_reduce(p, p, count, 7, 0, comm, stream);
}
static const char *railmap_nccl_error(railmap_nccl *a, int code) { return a->error(code); }
*/
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unsafe"
)

// nccl is the loaded collective library with one communicator for each GPU.
type nccl struct {
	c     C.railmap_nccl
	comms []handle
}

const (
	ncclWarmups = 5
	ncclLoops   = 20
)

// ncclStep runs all-reduces of each size over all GPUs of the plan.
func (s *rig) ncclStep(ctx context.Context, step Step) (sizes []NCCLSize, version int, err error) {
	var local scope
	defer func() { err = errors.Join(err, local.close()) }()
	var transfers []*transfer
	for _, name := range slices.SortedFunc(maps.Keys(s.plan.GPUs), compareGPUs) {
		g, err := s.gpu(name)
		if err != nil {
			return nil, 0, err
		}
		t := &transfer{gpu: g}
		if err := s.equip(t, &local); err != nil {
			return nil, 0, err
		}
		if t.to, err = s.alloc(slices.Max(step.Sizes)); err != nil {
			return nil, 0, err
		}
		local.add(func() error { return errors.Join(s.setCurrent(g.context), s.free(t.to)) })
		transfers = append(transfers, t)
	}
	n, version, err := s.openNCCL(transfers, &local)
	if err != nil {
		return nil, version, err
	}
	for _, bytes := range step.Sizes {
		size, err := s.allReduce(ctx, n, transfers, bytes)
		if err != nil {
			return sizes, version, fmt.Errorf("all-reduce of %d bytes: %w", bytes, err)
		}
		sizes = append(sizes, size)
	}
	return sizes, version, nil
}

func (s *rig) openNCCL(transfers []*transfer, local *scope) (*nccl, int, error) {
	n := &nccl{comms: make([]handle, len(transfers))}
	var why string
	for _, path := range candidates(s.opts.Dir, ncclLibrary) {
		p := C.CString(path)
		missing := C.railmap_nccl_load(&n.c, p)
		C.free(unsafe.Pointer(p))
		if missing == nil {
			why = ""
			break
		}
		why = C.GoString(missing)
	}
	if why != "" {
		return nil, 0, fmt.Errorf("no libnccl.so.2: %s", why)
	}
	var version C.int
	if err := n.check("ncclGetVersion", C.railmap_nccl_version(&n.c, &version)); err != nil {
		return nil, 0, err
	}
	devices := make([]C.int, len(transfers))
	for i, t := range transfers {
		devices[i] = C.int(t.gpu.device)
	}
	// The array of communicators lives in C memory: NCCL writes pointers into it.
	comms := (*handle)(C.calloc(C.size_t(len(transfers)), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(comms))
	err := n.check("ncclCommInitAll", C.railmap_nccl_init(&n.c, comms, C.int(len(devices)), &devices[0]))
	if err != nil {
		return nil, int(version), err
	}
	copy(n.comms, unsafe.Slice(comms, len(transfers)))
	for _, comm := range n.comms {
		local.add(func() error { return n.check("ncclCommDestroy", C.railmap_nccl_destroy(&n.c, comm)) })
	}
	return n, int(version), nil
}

func (n *nccl) check(call string, result C.int) error {
	if result == 0 {
		return nil
	}
	return &CallError{Call: call, Code: int(result), Name: C.GoString(C.railmap_nccl_error(&n.c, result))}
}

// allReduce measures one size: bus bandwidth is bytes / time x 2 (n-1)/n.
func (s *rig) allReduce(ctx context.Context, n *nccl, transfers []*transfer, bytes int) (NCCLSize, error) {
	size := NCCLSize{Bytes: bytes, GPUs: len(transfers)}
	factor := 2 * float64(len(transfers)-1) / float64(len(transfers))
	for i := 0; i <= s.plan.Samples; i++ {
		loops := ncclLoops
		if i == 0 {
			loops = ncclWarmups
		}
		seconds, err := s.reduceLoop(ctx, n, transfers, bytes, loops)
		if err != nil {
			return size, err
		}
		if i > 0 && seconds > 0 {
			size.Samples = append(size.Samples, float64(bytes)/seconds*factor)
			size.Seconds = seconds
		}
	}
	return size, nil
}

// reduceLoop gives the seconds of one all-reduce, by the slowest GPU.
func (s *rig) reduceLoop(ctx context.Context, n *nccl, transfers []*transfer, bytes, loops int) (float64, error) {
	mark := func(pick func(*transfer) handle) error {
		var err error
		for _, t := range transfers {
			err = cmp.Or(err, s.setCurrent(t.gpu.context), s.eventRecord(pick(t), t.stream))
		}
		return err
	}
	err := mark(func(t *transfer) handle { return t.begin })
	for i := 0; i < loops && err == nil; i++ {
		err = n.check("ncclGroupStart", C.railmap_nccl_start(&n.c))
		for j, t := range transfers {
			if err == nil {
				err = n.check("ncclAllReduce", C.railmap_nccl_sum(&n.c, C.uint64_t(t.to), C.size_t(bytes/4), n.comms[j], t.stream))
			}
		}
		err = cmp.Or(err, n.check("ncclGroupEnd", C.railmap_nccl_end(&n.c)))
	}
	err = cmp.Or(err, mark(func(t *transfer) handle { return t.end }))
	streams := make([]handle, 0, len(transfers))
	for _, t := range transfers {
		streams = append(streams, t.stream)
	}
	if err := errors.Join(err, s.wait(ctx, streams)); err != nil {
		return 0, err
	}
	slowest := 0.0
	for _, t := range transfers {
		if err := s.setCurrent(t.gpu.context); err != nil {
			return 0, err
		}
		seconds, err := s.elapsed(t.begin, t.end)
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, seconds)
	}
	return slowest / float64(loops), nil
}

// compareGPUs orders GPU2 before GPU10.
func compareGPUs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
