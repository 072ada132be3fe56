// A machine that does not exist, behind the names of the GPU driver's libraries. One shared object serves as libcuda.so.1,
// libnvidia-ml.so.1 and libnccl.so.2. It moves no bytes and keeps a clock of its own: copies take the time that the script
// says. Every taken thing is counted, and the counts stand in the state file, so that a test sees what is left behind.
//
// RAILMAP_FAKE_SCRIPT names the script, RAILMAP_FAKE_STATE the state file. Lines of the script are "key value ...".
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAXGPU 16
#define MAXLINK 18

struct link { int active, is_switch; char remote[32]; unsigned long long errors; };
struct gpu {
	char name[96], uuid[80], pci[32];
	int major, minor, numa, sw, gen, max_gen, idle_gen, width, max_width, processes, remap_failed, c2c, links;
	unsigned long long memory, used, throttle;
	unsigned clique, health;
	struct link link[MAXLINK];
};
static struct {
	int gpus, cuda, numa_nodes, loaded;
	char driver[32], cluster[40];
	struct gpu gpu[MAXGPU];
	double host, far, uplink, peer, pair[MAXGPU][MAXGPU], host_latency, peer_latency, local_latency, nccl;
	int no_peer, no_kernel, no_wait, slow, glitch_a, glitch_b, glitch_left;
	double glitch;
	char numa_cpus[8][64];
	struct { char call[48]; int nth, code, hang; } fault[16];
	int faults;
} m;

// state is shared with whoever looks at the file.
static struct state { int live_contexts, live_host, live_device, live_streams, live_events, live_modules, live_peers, live_comms, calls, awake[MAXGPU], glitched; } *st;

static void load(void) {
	if (m.loaded) return;
	m.loaded = 1;
	const char *path = getenv("RAILMAP_FAKE_STATE");
	int fd = path ? open(path, O_RDWR | O_CREAT, 0644) : -1;
	if (fd >= 0 && ftruncate(fd, sizeof *st) == 0) st = mmap(NULL, sizeof *st, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!st || st == MAP_FAILED) st = calloc(1, sizeof *st);
	if (fd >= 0) close(fd);
	FILE *f = fopen(getenv("RAILMAP_FAKE_SCRIPT") ? getenv("RAILMAP_FAKE_SCRIPT") : "", "r");
	if (!f) return;
	char line[512];
	while (fgets(line, sizeof line, f)) {
		struct gpu *g = &m.gpu[m.gpus ? m.gpus - 1 : 0];
		int a, b, n;
		double v;
		char word[48];
		if (sscanf(line, "driver %31s", m.driver) == 1 || sscanf(line, "cuda %d", &m.cuda) == 1 || sscanf(line, "cluster %39s", m.cluster) == 1) continue;
		if (sscanf(line, "numa %d %63s", &a, word) == 2 && a < 8) { snprintf(m.numa_cpus[a], 64, "%s", word); if (a >= m.numa_nodes) m.numa_nodes = a + 1; continue; }
		if (sscanf(line, "host %lf", &m.host) == 1 || sscanf(line, "far %lf", &m.far) == 1 || sscanf(line, "uplink %lf", &m.uplink) == 1 ||
			sscanf(line, "hostlatency %lf", &m.host_latency) == 1 || sscanf(line, "peerlatency %lf", &m.peer_latency) == 1 ||
			sscanf(line, "locallatency %lf", &m.local_latency) == 1 || sscanf(line, "nccl %lf", &m.nccl) == 1) continue;
		if (sscanf(line, "peer %lf", &v) == 1) { m.peer = v; for (a = 0; a < MAXGPU; a++) for (b = 0; b < MAXGPU; b++) m.pair[a][b] = v; continue; }
		if (sscanf(line, "pair %d %d %lf", &a, &b, &v) == 3) { m.pair[a][b] = m.pair[b][a] = v; continue; }
		if (sscanf(line, "fault %47s %d %d %n", word, &a, &b, &n) == 3 && m.faults < 16) {
			strcpy(m.fault[m.faults].call, word); m.fault[m.faults].nth = a; m.fault[m.faults].code = b;
			m.fault[m.faults].hang = strstr(line + n, "hang") != NULL; m.faults++; continue;
		}
		if (sscanf(line, "glitch %d %d %lf %d", &m.glitch_a, &m.glitch_b, &m.glitch, &m.glitch_left) == 4) continue;
		if (!strncmp(line, "nopeer", 6)) { m.no_peer = 1; continue; }
		if (!strncmp(line, "nokernel", 8)) { m.no_kernel = 1; continue; }
		if (!strncmp(line, "slow", 4)) { m.slow = 1; continue; }
		if (!strncmp(line, "nowait", 6)) { m.no_wait = 1; continue; }
		if (!strncmp(line, "gpu", 3) && m.gpus < MAXGPU) {
			g = &m.gpu[m.gpus++];
			sscanf(line, "gpu %31s %79s %d %d %llu %d %d %d %d %d %d %d %d %llu %d %d %u %u", g->pci, g->uuid, &g->major, &g->minor, &g->memory, &g->numa, &g->sw,
				&g->gen, &g->max_gen, &g->idle_gen, &g->width, &g->max_width, &g->processes, &g->throttle, &g->remap_failed, &g->c2c, &g->clique, &g->health);
			continue;
		}
		if (!strncmp(line, "name ", 5)) { snprintf(g->name, sizeof g->name, "%.90s", line + 5); g->name[strcspn(g->name, "\n")] = 0; continue; }
		if (!strncmp(line, "link ", 5) && g->links < MAXLINK) {
			struct link *l = &g->link[g->links++];
			sscanf(line, "link %d %d %31s %llu", &l->active, &l->is_switch, l->remote, &l->errors);
		}
	}
	fclose(f);
}

// trip gives the scripted error of a call, or hangs, when its turn has come.
static int trip(const char *call) {
	load();
	st->calls++;
	for (int i = 0; i < m.faults; i++) {
		if (strcmp(m.fault[i].call, call) || --m.fault[i].nth != 0) continue;
		if (m.fault[i].hang) for (;;) pause();
		return m.fault[i].code;
	}
	return 0;
}
#define TRIP() do { int trip_ = trip(__func__); if (trip_) return trip_; } while (0)

// ---- CUDA ----
// Device memory of GPU d lies at (d+1)<<48; host memory is real, its NUMA node is remembered.
struct host { void *p; size_t n; int numa; struct host *next; };
struct dev { uint64_t p; size_t n; struct dev *next; };
enum { WAIT, COPY, RECORD, SPAN };
struct event { double at; int pending; };
struct op { int kind; void *flag; struct event *ev; int from, to; double left, cap; struct op *next; }; // places: GPU d, or -1-numa
struct stream { int gpu; struct op *head, **tail; struct stream *next; };
struct ctx { int gpu, refs; };

static struct host *hosts;
static struct dev *devs;
static struct stream *streams;
static struct ctx ctxs[MAXGPU];
static __thread struct ctx *current;
static double now;
static uint64_t bump[MAXGPU];

static int thread_numa(void) {
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set)) return 0;
	for (int n = 0; n < m.numa_nodes; n++) {
		int lo = 0, hi = 0;
		if (sscanf(m.numa_cpus[n], "%d-%d", &lo, &hi) < 2) hi = lo;
		int inside = 1;
		for (int c = 0; c < CPU_SETSIZE; c++) if (CPU_ISSET(c, &set) && (c < lo || c > hi)) inside = 0;
		if (inside) return n;
	}
	return 0;
}
static int place_of(uint64_t p) {
	if (p >> 48) return (int)(p >> 48) - 1;
	for (struct host *h = hosts; h; h = h->next) if (p >= (uint64_t)(uintptr_t)h->p && p < (uint64_t)(uintptr_t)h->p + h->n) return -1 - h->numa;
	return -1;
}
static double base_rate(int from, int to) {
	if (from >= 0 && to >= 0) return from == to ? 1e12 : m.pair[from][to];
	int g = from >= 0 ? from : to, n = -1 - (from >= 0 ? to : from);
	return m.gpu[g].numa == n ? m.host : m.far;
}
// rate shares the uplink of a switch between all copies that cross it in one direction.
static double rate(struct op *o) {
	double r = base_rate(o->from, o->to);
	if (o->cap > 0 && o->cap < r) r = o->cap;
	if (o->from >= 0 && o->to >= 0) return r;
	int g = o->from >= 0 ? o->from : o->to, sharing = 0;
	for (struct stream *s = streams; s; s = s->next) {
		struct op *h = s->head;
		if (!h || h->kind != COPY || (h->from >= 0) != (o->from >= 0) || (h->to >= 0) != (o->to >= 0)) continue;
		if (m.gpu[h->from >= 0 ? h->from : h->to].sw == m.gpu[g].sw) sharing++;
	}
	double share = m.uplink / (sharing ? sharing : 1);
	return r < share ? r : share;
}
static void pop(struct stream *s) {
	struct op *o = s->head;
	s->head = o->next;
	if (!s->head) s->tail = &s->head;
	free(o);
}
// advance lets the clock run until nothing can go on.
static void advance(void) {
	for (;;) {
		int moved = 0;
		for (struct stream *s = streams; s; s = s->next)
			while (s->head && (s->head->kind == WAIT || s->head->kind == RECORD)) {
				if (s->head->kind == WAIT && __atomic_load_n((uint32_t *)s->head->flag, __ATOMIC_SEQ_CST) < 1) break;
				if (s->head->kind == RECORD) { s->head->ev->at = now; s->head->ev->pending = 0; }
				pop(s);
				moved = 1;
			}
		double dt = 1e30;
		for (struct stream *s = streams; s; s = s->next) if (s->head && s->head->kind >= COPY && s->head->kind != RECORD) {
			double t = s->head->left / (s->head->kind == SPAN ? 1 : rate(s->head));
			if (t < dt) dt = t;
		}
		if (dt >= 1e30) { if (!moved) return; continue; }
		for (struct stream *s = streams; s; s = s->next) if (s->head && s->head->kind != WAIT && s->head->kind != RECORD) {
			struct op *o = s->head;
			o->left -= dt * (o->kind == SPAN ? 1 : rate(o));
		}
		now += dt;
		for (struct stream *s = streams; s; s = s->next) if (s->head && s->head->kind != WAIT && s->head->kind != RECORD && s->head->left <= 1e-9 * (s->head->kind == SPAN ? 1e-6 : 1e6)) pop(s);
	}
}
static struct op *push(struct stream *s, int kind) {
	struct op *o = calloc(1, sizeof *o);
	o->kind = kind;
	*s->tail = o;
	s->tail = &o->next;
	return o;
}

int cuInit(unsigned flags) { (void)flags; TRIP(); return m.gpus ? 0 : 100; }
int cuDriverGetVersion(int *v) { TRIP(); *v = m.cuda; return 0; }
int cuDeviceGetCount(int *n) { TRIP(); *n = m.gpus; return 0; }
int cuDeviceGet(int *d, int i) { TRIP(); if (i >= m.gpus) return 101; *d = i; return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { TRIP(); for (int i = 0; i < n && (s[i] = m.gpu[d].pci[i]); i++) if (s[i] >= 'a') s[i] -= 32; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { TRIP(); ctxs[d].gpu = d; ctxs[d].refs++; st->live_contexts++; *c = &ctxs[d]; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { TRIP(); if (!ctxs[d].refs) return 201; ctxs[d].refs--; st->live_contexts--; return 0; }
int cuCtxSetCurrent(void *c) { TRIP(); current = c; return 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { TRIP(); if (!current) return 201; *t = m.gpu[current->gpu].memory; *f = *t - m.gpu[current->gpu].used; return 0; }
int cuMemHostAlloc(void **p, size_t n, unsigned flags) {
	(void)flags; TRIP();
	if (!current) return 201;
	struct host *h = calloc(1, sizeof *h);
	h->p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	h->n = n; h->numa = thread_numa(); h->next = hosts; hosts = h;
	st->live_host++; *p = h->p;
	return 0;
}
int cuMemFreeHost(void *p) {
	TRIP();
	for (struct host **h = &hosts; *h; h = &(*h)->next) if ((*h)->p == p) {
		struct host *gone = *h; *h = gone->next; munmap(gone->p, gone->n); free(gone); st->live_host--; return 0;
	}
	return 1;
}
int cuMemAlloc_v2(uint64_t *p, size_t n) {
	TRIP();
	if (!current) return 201;
	struct gpu *g = &m.gpu[current->gpu];
	if (g->used + n > g->memory) return 2;
	struct dev *d = calloc(1, sizeof *d);
	d->p = ((uint64_t)(current->gpu + 1) << 48) + bump[current->gpu]; d->n = n; d->next = devs; devs = d;
	bump[current->gpu] += (n + 4095) & ~4095ull; g->used += n; st->live_device++; *p = d->p;
	return 0;
}
int cuMemFree_v2(uint64_t p) {
	TRIP();
	for (struct dev **d = &devs; *d; d = &(*d)->next) if ((*d)->p == p) {
		struct dev *gone = *d; *d = gone->next; m.gpu[(p >> 48) - 1].used -= gone->n; free(gone); st->live_device--; return 0;
	}
	return 1;
}
int cuDeviceCanAccessPeer(int *yes, int d, int peer) { TRIP(); *yes = d != peer && !m.no_peer; return 0; }
int cuCtxEnablePeerAccess(void *c, unsigned flags) { (void)c; (void)flags; TRIP(); st->live_peers++; return 0; }
int cuCtxDisablePeerAccess(void *c) { (void)c; TRIP(); st->live_peers--; return 0; }
int cuStreamCreate(void **s, unsigned flags) {
	(void)flags; TRIP();
	if (!current) return 201;
	struct stream *n = calloc(1, sizeof *n);
	n->gpu = current->gpu; n->tail = &n->head; n->next = streams; streams = n; st->live_streams++; *s = n;
	return 0;
}
int cuStreamDestroy_v2(void *s) {
	TRIP();
	for (struct stream **p = &streams; *p; p = &(*p)->next) if (*p == s) {
		struct stream *gone = *p; *p = gone->next;
		while (gone->head) pop(gone);
		free(gone); st->live_streams--; return 0;
	}
	return 400;
}
int cuStreamQuery(void *s) { TRIP(); advance(); return ((struct stream *)s)->head ? 600 : 0; }
int cuStreamWaitValue32_v2(void *s, uint64_t addr, uint32_t v, unsigned flags) { (void)v; (void)flags; TRIP(); if (m.no_wait) return 801; push(s, WAIT)->flag = (void *)(uintptr_t)addr; return 0; }
int cuEventCreate(void **e, unsigned flags) { (void)flags; TRIP(); *e = calloc(1, sizeof(struct event)); st->live_events++; return 0; }
int cuEventDestroy_v2(void *e) { TRIP(); free(e); st->live_events--; return 0; }
int cuEventRecord(void *e, void *s) { TRIP(); struct op *o = push(s, RECORD); o->ev = e; o->ev->pending = 1; return 0; }
int cuEventElapsedTime_v2(float *ms, void *b, void *e) {
	TRIP();
	if (((struct event *)b)->pending || ((struct event *)e)->pending) return 600;
	*ms = (float)((((struct event *)e)->at - ((struct event *)b)->at) * 1e3);
	return 0;
}
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n, void *s) {
	TRIP();
	struct op *o = push(s, COPY);
	o->from = place_of(from); o->to = place_of(to); o->left = (double)n;
	if (m.slow) usleep(5000);
	if (o->from == m.glitch_a && o->to == m.glitch_b && st->glitched < m.glitch_left) { o->cap = m.glitch; st->glitched++; }
	if (n <= 64) { o->kind = SPAN; o->left = 2.5e-6; }
	for (int i = 0; i < 2; i++) { int p = i ? o->from : o->to; if (p >= 0) st->awake[p] = 1; }
	return 0;
}
int cuModuleLoadData(void **mod, const void *text) { TRIP(); if (m.no_kernel || !strstr(text, "chase")) return 218; *mod = malloc(1); st->live_modules++; return 0; }
int cuModuleUnload(void *mod) { TRIP(); free(mod); st->live_modules--; return 0; }
int cuModuleGetFunction(void **f, void *mod, const char *name) { TRIP(); if (strcmp(name, "chase")) return 500; *f = mod; return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **args, void **extra) {
	(void)f; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra; TRIP();
	int at = place_of(*(uint64_t *)args[0]), g = ((struct stream *)s)->gpu;
	double each = at < 0 ? m.host_latency : at == g ? m.local_latency : m.peer_latency;
	push(s, SPAN)->left = each * *(uint32_t *)args[1];
	return 0;
}
int cuGetErrorName(int code, const char **name) {
	*name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 999 ? "CUDA_ERROR_UNKNOWN" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
	return 0;
}

// ---- NCCL ----
struct comm { int rank, n; };
int ncclGetVersion(int *v) { TRIP(); *v = 22304; return 0; }
int ncclCommInitAll(void **comms, int n, const int *devices) {
	TRIP();
	for (int i = 0; i < n; i++) { struct comm *c = calloc(1, sizeof *c); c->rank = devices[i]; c->n = n; comms[i] = c; st->live_comms++; }
	return 0;
}
int ncclCommDestroy(void *c) { TRIP(); free(c); st->live_comms--; return 0; }
int ncclGroupStart(void) { TRIP(); return 0; }
int ncclGroupEnd(void) { TRIP(); return 0; }
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *s) {
	(void)send; (void)recv; (void)op; TRIP();
	if (type != 7) return 4;
	struct comm *c = comm;
	push(s, SPAN)->left = (double)count * 4 / m.nccl * 2 * (c->n - 1) / c->n;
	return 0;
}
const char *ncclGetErrorString(int code) { (void)code; return "unhandled system error"; }

// ---- NVML ----
struct pci { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; };
static void fill_pci(struct pci *p, const char *text) {
	memset(p, 0, sizeof *p);
	sscanf(text, "%x:%x:%x", &p->domain, &p->bus, &p->device);
	snprintf(p->bus_id, 32, "%08X:%02X:%02X.0", p->domain, p->bus, p->device);
}
#define G(d) (&m.gpu[((struct gpu *)(d)) - m.gpu])
int nvmlInit_v2(void) { TRIP(); return m.gpus ? 0 : 9; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { TRIP(); snprintf(s, n, "%s", m.driver); return 0; }
int nvmlSystemGetNVMLVersion(char *s, unsigned n) { TRIP(); snprintf(s, n, "12.%s", m.driver); return 0; }
int nvmlSystemGetCudaDriverVersion(int *v) { TRIP(); *v = m.cuda; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { TRIP(); *n = m.gpus; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { TRIP(); if ((int)i >= m.gpus) return 2; *d = &m.gpu[i]; return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { TRIP(); snprintf(s, n, "%s", G(d)->name); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { TRIP(); snprintf(s, n, "%s", G(d)->uuid); return 0; }
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p) { TRIP(); fill_pci(p, G(d)->pci); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *v) { TRIP(); v[0] = G(d)->memory; v[1] = G(d)->memory - G(d)->used; v[2] = G(d)->used; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { TRIP(); *a = G(d)->major; *b = G(d)->minor; return 0; }
int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *v) {
	TRIP();
	struct gpu *g = G(d);
	*v = g->idle_gen && !st->awake[g - m.gpu] ? g->idle_gen : g->gen;
	return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void *d, unsigned *v) { TRIP(); *v = G(d)->max_gen; return 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *v) { TRIP(); *v = G(d)->width; return 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *v) { TRIP(); *v = G(d)->max_width; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *a, unsigned *b) { (void)d; TRIP(); *a = *b = 0; return 0; }
int nvmlDeviceGetC2cModeInfoV(void *d, unsigned *v) { TRIP(); *v = G(d)->c2c; return 0; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *v) { (void)d; (void)sensor; TRIP(); *v = 35; return 0; }
int nvmlDeviceGetPcieReplayCounter(void *d, unsigned *v) { (void)d; TRIP(); *v = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, void *infos) {
	TRIP();
	unsigned have = G(d)->processes, room = *n;
	*n = have;
	if (room < have) return 7;
	if (infos) memset(infos, 0, have * 24);
	return 0;
}
int nvmlDeviceGetRemappedRows(void *d, unsigned *c, unsigned *u, unsigned *p, unsigned *f) { TRIP(); *c = *u = *p = 0; *f = G(d)->remap_failed; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *v) { TRIP(); *v = G(d)->throttle; return 0; }
int nvmlDeviceGetNvLinkState(void *d, unsigned l, int *v) { TRIP(); if ((int)l >= G(d)->links) return 2; *v = G(d)->link[l].active; return 0; }
int nvmlDeviceGetNvLinkVersion(void *d, unsigned l, unsigned *v) { TRIP(); (void)l; *v = G(d)->major >= 9 ? 4 : 3; return 0; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned l, struct pci *p) { TRIP(); if (G(d)->link[l].remote[0] == '-') return 3; fill_pci(p, G(d)->link[l].remote); return 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned l, int *v) { TRIP(); *v = G(d)->link[l].is_switch ? 2 : 0; return 0; }
int nvmlDeviceGetNvLinkErrorCounter(void *d, unsigned l, int counter, unsigned long long *v) { TRIP(); *v = counter == 0 ? G(d)->link[l].errors : 0; return 0; }
struct fabric { unsigned version; unsigned char uuid[16]; unsigned status, clique; unsigned char state; unsigned health; };
int nvmlDeviceGetGpuFabricInfoV(void *d, struct fabric *f) {
	TRIP();
	if (!m.cluster[0] || m.cluster[0] == '-') { f->state = 0; return 0; }
	for (int i = 0; i < 16; i++) { unsigned b = 0; sscanf(m.cluster + 2 * i, "%2x", &b); f->uuid[i] = b; }
	f->status = 0; f->clique = G(d)->clique; f->state = 3; f->health = G(d)->health;
	return 0;
}
int nvmlDeviceGetP2PStatus(void *a, void *b, int index, int *v) { (void)index; TRIP(); *v = a != b && !m.no_peer ? 0 : 5; return 0; }
