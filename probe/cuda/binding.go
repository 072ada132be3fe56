//go:build cgo && linux

package cuda

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Prototypes of our own after the public driver API reference; all handles are pointers, all results int.
typedef struct {
	void *lib;
	int (*init)(unsigned);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*bus_id)(char *, int, int);
	int (*retain)(void **, int);
	int (*release)(int);
	int (*set_current)(void *);
	int (*mem_info)(size_t *, size_t *);
	int (*host_alloc)(void **, size_t, unsigned);
	int (*host_free)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*free_)(uint64_t);
	int (*can_access)(int *, int, int);
	int (*enable_peer)(void *, unsigned);
	int (*disable_peer)(void *);
	int (*stream_create)(void **, unsigned);
	int (*stream_destroy)(void *);
	int (*stream_query)(void *);
	int (*wait_value)(void *, uint64_t, uint32_t, unsigned);
	int (*event_create)(void **, unsigned);
	int (*event_destroy)(void *);
	int (*event_record)(void *, void *);
	int (*event_elapsed)(float *, void *, void *);
	int (*copy)(uint64_t, uint64_t, size_t, void *);
	int (*module_load)(void **, const void *);
	int (*module_unload)(void *);
	int (*module_function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*error_name)(int, const char **);
} railmap_cuda;

// railmap_sym prefers the newer name of a call and falls back to the name without suffix.
static void *railmap_sym(void *lib, const char *name, const char *suffix) {
	char full[64];
	snprintf(full, sizeof full, "%s%s", name, suffix);
	void *p = dlsym(lib, full);
	return p ? p : dlsym(lib, name);
}

// railmap_load opens the library and looks every call up. It returns NULL, or what is missing.
static const char *railmap_load(railmap_cuda *a, const char *path) {
	a->lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!a->lib) return dlerror();
	struct { void **to; const char *name, *suffix; int optional; } calls[] = {
		{(void **)&a->init, "cuInit", "", 0},
		{(void **)&a->count, "cuDeviceGetCount", "", 0}, {(void **)&a->get, "cuDeviceGet", "", 0},
		{(void **)&a->bus_id, "cuDeviceGetPCIBusId", "", 0},
		{(void **)&a->retain, "cuDevicePrimaryCtxRetain", "", 0}, {(void **)&a->release, "cuDevicePrimaryCtxRelease", "_v2", 0},
		{(void **)&a->set_current, "cuCtxSetCurrent", "", 0}, {(void **)&a->mem_info, "cuMemGetInfo", "_v2", 0},
		{(void **)&a->host_alloc, "cuMemHostAlloc", "", 0}, {(void **)&a->host_free, "cuMemFreeHost", "", 0},
		{(void **)&a->alloc, "cuMemAlloc", "_v2", 0}, {(void **)&a->free_, "cuMemFree", "_v2", 0},
		{(void **)&a->can_access, "cuDeviceCanAccessPeer", "", 0}, {(void **)&a->enable_peer, "cuCtxEnablePeerAccess", "", 0},
		{(void **)&a->disable_peer, "cuCtxDisablePeerAccess", "", 0},
		{(void **)&a->stream_create, "cuStreamCreate", "", 0}, {(void **)&a->stream_destroy, "cuStreamDestroy", "_v2", 0},
		{(void **)&a->stream_query, "cuStreamQuery", "", 0}, {(void **)&a->wait_value, "cuStreamWaitValue32", "_v2", 1},
		{(void **)&a->event_create, "cuEventCreate", "", 0}, {(void **)&a->event_destroy, "cuEventDestroy", "_v2", 0},
		{(void **)&a->event_record, "cuEventRecord", "", 0}, {(void **)&a->event_elapsed, "cuEventElapsedTime", "_v2", 0},
		{(void **)&a->copy, "cuMemcpyAsync", "", 0},
		{(void **)&a->module_load, "cuModuleLoadData", "", 1}, {(void **)&a->module_unload, "cuModuleUnload", "", 1},
		{(void **)&a->module_function, "cuModuleGetFunction", "", 1}, {(void **)&a->launch, "cuLaunchKernel", "", 1},
		{(void **)&a->error_name, "cuGetErrorName", "", 1},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		*calls[i].to = railmap_sym(a->lib, calls[i].name, calls[i].suffix);
		if (!*calls[i].to && !calls[i].optional) return calls[i].name;
	}
	return NULL;
}

static int railmap_init(railmap_cuda *a) { return a->init(0); }
static int railmap_count(railmap_cuda *a, int *n) { return a->count(n); }
static int railmap_get(railmap_cuda *a, int *d, int i) { return a->get(d, i); }
static int railmap_bus_id(railmap_cuda *a, char *s, int n, int d) { return a->bus_id(s, n, d); }
static int railmap_retain(railmap_cuda *a, void **c, int d) { return a->retain(c, d); }
static int railmap_release(railmap_cuda *a, int d) { return a->release(d); }
static int railmap_set_current(railmap_cuda *a, void *c) { return a->set_current(c); }
static int railmap_mem_info(railmap_cuda *a, size_t *f, size_t *t) { return a->mem_info(f, t); }
static int railmap_host_alloc(railmap_cuda *a, void **p, size_t n) { return a->host_alloc(p, n, 1); } // 1 = PORTABLE
static int railmap_host_free(railmap_cuda *a, void *p) { return a->host_free(p); }
static int railmap_alloc(railmap_cuda *a, uint64_t *p, size_t n) { return a->alloc(p, n); }
static int railmap_free(railmap_cuda *a, uint64_t p) { return a->free_(p); }
static int railmap_can_access(railmap_cuda *a, int *yes, int d, int peer) { return a->can_access(yes, d, peer); }
static int railmap_enable_peer(railmap_cuda *a, void *c) { return a->enable_peer(c, 0); }
static int railmap_disable_peer(railmap_cuda *a, void *c) { return a->disable_peer(c); }
static int railmap_stream_create(railmap_cuda *a, void **s) { return a->stream_create(s, 1); } // 1 = NON_BLOCKING
static int railmap_stream_destroy(railmap_cuda *a, void *s) { return a->stream_destroy(s); }
static int railmap_stream_query(railmap_cuda *a, void *s) { return a->stream_query(s); }
static int railmap_wait_value(railmap_cuda *a, void *s, void *flag) {
	return a->wait_value ? a->wait_value(s, (uint64_t)(uintptr_t)flag, 1, 0) : 801; // 0 = wait until >=, 801 = not supported
}
static int railmap_event_create(railmap_cuda *a, void **e) { return a->event_create(e, 0); }
static int railmap_event_destroy(railmap_cuda *a, void *e) { return a->event_destroy(e); }
static int railmap_event_record(railmap_cuda *a, void *e, void *s) { return a->event_record(e, s); }
static int railmap_event_elapsed(railmap_cuda *a, float *ms, void *b, void *e) { return a->event_elapsed(ms, b, e); }
static int railmap_copy(railmap_cuda *a, uint64_t to, uint64_t from, size_t n, void *s) { return a->copy(to, from, n, s); }
static int railmap_module_load(railmap_cuda *a, void **m, const char *text) { return a->module_load && a->launch ? a->module_load(m, text) : 801; }
static int railmap_module_unload(railmap_cuda *a, void *m) { return a->module_unload(m); }
static int railmap_module_function(railmap_cuda *a, void **f, void *m, const char *n) { return a->module_function(f, m, n); }
static int railmap_chase(railmap_cuda *a, void *f, uint64_t start, uint32_t n, uint64_t out, void *s) {
	void *args[] = {&start, &n, &out};
	return a->launch(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
}
static const char *railmap_error_name(railmap_cuda *a, int code) {
	const char *name = NULL;
	if (!a->error_name || a->error_name(code, &name) != 0) return NULL;
	return name;
}
static void railmap_store(void *flag, uint32_t v) { __atomic_store_n((uint32_t *)flag, v, __ATOMIC_SEQ_CST); }
// railmap_chain writes a ring of pointers that all accesses of a chase follow, for a buffer that lies at base.
static void railmap_chain(void *host, uint64_t base, size_t bytes, size_t stride) {
	for (size_t at = 0; at + stride <= bytes; at += stride)
		*(uint64_t *)((char *)host + at) = base + (at + 2 * stride > bytes ? 0 : at + stride);
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"
)

// api is the loaded library.
type api struct{ c C.railmap_cuda }

type (
	handle = unsafe.Pointer // context, stream, event, module, function or host memory
	devptr = uint64
)

// openAPI loads libcuda.so.1, from dir first when that is not empty.
func openAPI(dir string) (*api, error) {
	a := new(api)
	var why string
	for _, path := range candidates(dir, cudaLibrary) {
		p := C.CString(path)
		missing := C.railmap_load(&a.c, p)
		C.free(unsafe.Pointer(p))
		if missing == nil {
			return a, nil
		}
		why = C.GoString(missing)
	}
	return nil, fmt.Errorf("%w: %s", ErrNoDriver, why)
}

func candidates(dir, name string) []string {
	if dir == "" {
		return []string{name}
	}
	return []string{filepath.Join(dir, name), name}
}

// check turns a result into an error that names the call.
func (a *api) check(call string, result C.int) error {
	if result == 0 {
		return nil
	}
	e := &CallError{Call: call, Code: int(result)}
	if name := C.railmap_error_name(&a.c, result); name != nil {
		e.Name = C.GoString(name)
	}
	return e
}

func (a *api) init() error { return a.check("cuInit", C.railmap_init(&a.c)) }

// devices maps PCI addresses, as the kernel writes them, to device numbers.
func (a *api) devices() (map[string]int, error) {
	var n C.int
	if err := a.check("cuDeviceGetCount", C.railmap_count(&a.c, &n)); err != nil {
		return nil, err
	}
	byAddress := map[string]int{}
	for i := range n {
		var d C.int
		if err := a.check("cuDeviceGet", C.railmap_get(&a.c, &d, i)); err != nil {
			return nil, err
		}
		var name [32]C.char
		if err := a.check("cuDeviceGetPCIBusId", C.railmap_bus_id(&a.c, &name[0], C.int(len(name)), d)); err != nil {
			return nil, err
		}
		byAddress[address(C.GoString(&name[0]))] = int(d)
	}
	return byAddress, nil
}

// address writes a bus id of the driver ("00000000:0C:00.0", "0000:0C:00.0") as the kernel does.
func address(busID string) string {
	s := strings.ToLower(busID)
	if domain, rest, ok := strings.Cut(s, ":"); ok && len(domain) == 8 && strings.HasPrefix(domain, "0000") {
		return domain[4:] + ":" + rest
	}
	return s
}

func (a *api) retain(device int) (handle, error) {
	var c handle
	err := a.check("cuDevicePrimaryCtxRetain", C.railmap_retain(&a.c, &c, C.int(device)))
	return c, err
}

func (a *api) release(device int) error {
	return a.check("cuDevicePrimaryCtxRelease", C.railmap_release(&a.c, C.int(device)))
}

func (a *api) setCurrent(context handle) error {
	return a.check("cuCtxSetCurrent", C.railmap_set_current(&a.c, context))
}

func (a *api) freeMemory() (uint64, error) {
	var free, total C.size_t
	err := a.check("cuMemGetInfo", C.railmap_mem_info(&a.c, &free, &total))
	return uint64(free), err
}

func (a *api) hostAlloc(bytes int) (handle, error) {
	var p handle
	err := a.check("cuMemHostAlloc", C.railmap_host_alloc(&a.c, &p, C.size_t(bytes)))
	return p, err
}

func (a *api) hostFree(p handle) error {
	return a.check("cuMemFreeHost", C.railmap_host_free(&a.c, p))
}

func (a *api) alloc(bytes int) (devptr, error) {
	var p C.uint64_t
	err := a.check("cuMemAlloc", C.railmap_alloc(&a.c, &p, C.size_t(bytes)))
	return devptr(p), err
}

func (a *api) free(p devptr) error { return a.check("cuMemFree", C.railmap_free(&a.c, C.uint64_t(p))) }

func (a *api) canAccess(device, peer int) (bool, error) {
	var yes C.int
	err := a.check("cuDeviceCanAccessPeer", C.railmap_can_access(&a.c, &yes, C.int(device), C.int(peer)))
	return yes != 0, err
}

func (a *api) enablePeer(context handle) error {
	return a.check("cuCtxEnablePeerAccess", C.railmap_enable_peer(&a.c, context))
}

func (a *api) disablePeer(context handle) error {
	return a.check("cuCtxDisablePeerAccess", C.railmap_disable_peer(&a.c, context))
}

func (a *api) streamCreate() (handle, error) {
	var s handle
	err := a.check("cuStreamCreate", C.railmap_stream_create(&a.c, &s))
	return s, err
}

func (a *api) streamDestroy(s handle) error {
	return a.check("cuStreamDestroy", C.railmap_stream_destroy(&a.c, s))
}

// streamDone tells whether everything in a stream has run.
func (a *api) streamDone(s handle) (bool, error) {
	result := C.railmap_stream_query(&a.c, s)
	if result == notReady {
		return false, nil
	}
	return result == 0, a.check("cuStreamQuery", result)
}

func (a *api) waitFlag(s, flag handle) error {
	return a.check("cuStreamWaitValue32", C.railmap_wait_value(&a.c, s, flag))
}

func (a *api) eventCreate() (handle, error) {
	var e handle
	err := a.check("cuEventCreate", C.railmap_event_create(&a.c, &e))
	return e, err
}

func (a *api) eventDestroy(e handle) error {
	return a.check("cuEventDestroy", C.railmap_event_destroy(&a.c, e))
}

func (a *api) eventRecord(e, s handle) error {
	return a.check("cuEventRecord", C.railmap_event_record(&a.c, e, s))
}

// elapsed is the time between two events in seconds.
func (a *api) elapsed(begin, end handle) (float64, error) {
	var ms C.float
	err := a.check("cuEventElapsedTime", C.railmap_event_elapsed(&a.c, &ms, begin, end))
	return float64(ms) / 1e3, err
}

func (a *api) copy(to, from devptr, bytes int, s handle) error {
	return a.check("cuMemcpyAsync", C.railmap_copy(&a.c, C.uint64_t(to), C.uint64_t(from), C.size_t(bytes), s))
}

func (a *api) moduleLoad(text string) (handle, error) {
	t := C.CString(text)
	defer C.free(unsafe.Pointer(t))
	var m handle
	err := a.check("cuModuleLoadData", C.railmap_module_load(&a.c, &m, t))
	return m, err
}

func (a *api) moduleUnload(m handle) error {
	return a.check("cuModuleUnload", C.railmap_module_unload(&a.c, m))
}

func (a *api) moduleFunction(m handle, name string) (handle, error) {
	n := C.CString(name)
	defer C.free(unsafe.Pointer(n))
	var f handle
	err := a.check("cuModuleGetFunction", C.railmap_module_function(&a.c, &f, m, n))
	return f, err
}

// chase starts the pointer chase: n dependent loads from start, the last pointer is written to out.
func (a *api) chase(f handle, start devptr, n int, out devptr, s handle) error {
	return a.check("cuLaunchKernel", C.railmap_chase(&a.c, f, C.uint64_t(start), C.uint32_t(n), C.uint64_t(out), s))
}

// hostAddress is the address under which GPUs see host memory that they may use: the same as ours.
func hostAddress(p handle) devptr { return devptr(uintptr(p)) }

func storeFlag(flag handle, v uint32) { C.railmap_store(flag, C.uint32_t(v)) }

func writeChain(host handle, base devptr, bytes, stride int) {
	C.railmap_chain(host, C.uint64_t(base), C.size_t(bytes), C.size_t(stride))
}
