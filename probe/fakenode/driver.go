package fakenode

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed driver/fake.c
var driverSource []byte

// Names of the libraries that the fake stands in for.
const (
	libCUDA = "libcuda.so.1"
	libNVML = "libnvidia-ml.so.1"
	libNCCL = "libnccl.so.2"
)

// Environment variables that the fake libraries read.
const (
	scriptVariable = "RAILMAP_FAKE_SCRIPT"
	stateVariable  = "RAILMAP_FAKE_STATE"
)

// WriteDriver puts the fake driver's libraries for this machine into dir and returns the environment in which they work.
// Library is what Build made.
func (m *Machine) WriteDriver(dir, library string) (environment []string, err error) {
	names := []string{libCUDA, libNVML}
	if m.NCCLBandwidth > 0 {
		names = append(names, libNCCL)
	}
	for _, name := range names {
		if err := os.Symlink(library, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(dir, "machine.script")
	if err := os.WriteFile(script, []byte(m.script()), 0o644); err != nil {
		return nil, err
	}
	return []string{scriptVariable + "=" + script, stateVariable + "=" + filepath.Join(dir, "state")}, nil
}

// script is the machine in the words of the fake driver.
func (m *Machine) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "driver 550.54.15\ncuda 12040\n")
	fmt.Fprintf(&b, "host %g\nfar %g\nuplink %g\npeer %g\n", m.HostBandwidth, m.FarBandwidth, m.UplinkBandwidth, m.PeerBandwidth)
	fmt.Fprintf(&b, "hostlatency %g\npeerlatency %g\nlocallatency %g\nnccl %g\n", m.HostLatency, m.PeerLatency, m.LocalLatency, m.NCCLBandwidth)
	if m.ClusterUUID != "" {
		fmt.Fprintf(&b, "cluster %s\n", m.ClusterUUID)
	}
	for n := range m.NUMA {
		fmt.Fprintf(&b, "numa %d %s\n", n, m.cpuList(n))
	}
	for _, p := range m.Pairs {
		fmt.Fprintf(&b, "pair %d %d %g\n", p.A, p.B, p.Bandwidth)
	}
	for _, g := range m.GPUs {
		c2c := 0
		if g.C2C {
			c2c = 1
		}
		remap := 0
		if g.RemapFailed {
			remap = 1
		}
		most := g.MaxGeneration
		if most == 0 {
			most = g.Generation
		}
		fmt.Fprintf(&b, "gpu %s %s %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", g.PCI, g.UUID, g.Capability[0], g.Capability[1], g.MemoryBytes,
			g.NUMA, m.switchOf(g.PCI), g.Generation, most, g.IdleGeneration, g.Width, g.MaxWidth, g.Processes, g.Throttle, remap, c2c, g.Clique, g.Health)
		fmt.Fprintf(&b, "name %s\n", g.Model)
		for _, l := range g.Links {
			l.script(&b)
		}
	}
	for _, fault := range m.Faults {
		fmt.Fprintln(&b, fault)
	}
	return b.String()
}

func (l Link) script(b *strings.Builder) {
	remote, active, toSwitch := l.Remote, 0, 0
	if remote == "" {
		remote = "-"
	}
	if l.Active {
		active = 1
	}
	if l.IsSwitch {
		toSwitch = 1
	}
	fmt.Fprintf(b, "link %d %d %s %d\n", active, toSwitch, remote, l.Errors)
}

// switchOf numbers the root complex below which a device hangs: its devices share one way to the host.
func (m *Machine) switchOf(pci string) int {
	for i, r := range m.Roots {
		if find(r.Devices, pci) != nil {
			return i
		}
	}
	return -1
}

// State is what the fake driver counted.
type State struct {
	Contexts, Host, Device, Streams, Events, Modules, Peers, Comms int // taken and not given back
	Calls                                                          int // calls into the driver
}

// Live is the number of things that were taken and not given back.
func (s State) Live() int {
	return s.Contexts + s.Host + s.Device + s.Streams + s.Events + s.Modules + s.Peers + s.Comms
}

// ReadState reads the counts of the fake driver in dir.
func ReadState(dir string) (State, error) {
	data, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		return State{}, err
	}
	var v [9]int
	if len(data) < 4*len(v) {
		return State{}, fmt.Errorf("state of the fake driver has %d bytes: must have at least %d", len(data), 4*len(v))
	}
	for i := range v {
		v[i] = int(int32(binary.NativeEndian.Uint32(data[4*i:])))
	}
	return State{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]}, nil
}
