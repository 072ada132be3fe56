# Everything a newcomer needs: make demo, make test. Go 1.26, gcc; tests install the rest (see .ci/install-deps).
GO ?= go
ARGS ?=
# go-nvml binds calls that NVIDIA deprecates; the warnings say nothing about this program.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

.PHONY: build demo test check bench clean fake-gpu test-vm emulated-cluster

build: bin/railmap

# go decides what to rebuild.
.PHONY: bin/railmap
bin/railmap:
	$(GO) build -trimpath -o $@ .

# The main job on this machine and a bundled fabric; ARGS=--once ends instead of serving the map.
demo: build
	bin/railmap demo $(ARGS)

# Installs what the tests need (apt, as root), then runs all of them; a missing program is then a failure, not a skip.
test:
	.ci/install-deps
	RAILMAP_REQUIRE_REAL=1 $(GO) test ./...

# Formatting, vet, staticcheck, code that nobody calls.
check:
	@out=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$out" ] || { echo "gofmt these:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	@out=$$($(GO) run golang.org/x/tools/cmd/deadcode@v0.52.0 -test ./...); [ -z "$$out" ] || { echo "nobody calls:"; echo "$$out"; exit 1; }

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Real RDMA over soft RoCE, and a real two-socket PCIe tree, in a small virtual machine (qemu without acceleration: about two
# minutes of processor time, 70 MB of kernel package once).
VM ?= $(HOME)/.cache/railmap/vm
test-vm:
	.ci/vm/build $(VM)
	RAILMAP_TEST_VM=$(VM) $(GO) test -count=1 -run Guest -v ./probe

# A shell on a node that does not exist (h100x8, a100x4pcie, gb200x4): its tree is $$FAKE_ROOT, its GPU driver $$FAKE_DRIVER.
MACHINE ?= h100x8
fake-gpu: build
	PATH="$(CURDIR)/bin:$$PATH" $(GO) run ./probe/fakenode/shell $(MACHINE)

# Sixteen hosts, four leaves, two spines as network namespaces (root, iproute2): sweeps them with railmap probe pairs and prints
# measured against shaped. ARGS="-faults 40" draws slow hosts, flapping hosts and slow uplinks, and says who is blamed.
emulated-cluster:
	$(GO) run ./probe/pair/emulated $(ARGS)

clean:
	rm -rf bin demo-out

# Kills, pauses, torn files, lies, floods and outages against the ledger and real servers, as every change is tested; soak is
# the longer form: SOAK times as many histories.
SOAK ?= 20
.PHONY: faults soak
faults:
	$(GO) test ./placer/ledger ./placer/server
	$(GO) test -run 'TestServe|TestHistory|TestOldHolder|TestOutage|TestClientCertificates|TestTokens|TestReload' .

soak:
	$(GO) test -timeout 4h ./placer/ledger -rapid.checks=100000 -run 'TestModel'
	RAILMAP_SOAK=$(SOAK) $(GO) test -timeout 4h -run 'TestHistory' -v .
