package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/railmap/railmap/topology"
)

// maxLspci bounds the functions of a listing: a large node has about 1,000, and some thousands with virtual functions.
const maxLspci = 1 << 14

var (
	// lspciHead is the first line of a function: "0000:19:00.0 3D controller [0302]: NVIDIA Corporation ...".
	lspciHead = regexp.MustCompile(`^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2}\.[0-7]) (.+?): (.+)$`)
	// lspciClass is what -nn adds to the class and lspciIDs what it adds to a name; -n prints nothing else.
	lspciClass  = regexp.MustCompile(`(?:^|\[)(?:Class )?([0-9a-f]{4})\]?$`)
	lspciIDs    = regexp.MustCompile(`(?:^|\[)([0-9a-f]{4}):([0-9a-f]{4})(?:\]|$| \(rev)`)
	lspciNoName = regexp.MustCompile(` Device ([0-9a-f]{4})(?:$| \()`)
	lspciProgIf = regexp.MustCompile(`\(prog-if ([0-9a-f]{2})`)
	lspciModel  = regexp.MustCompile(`\[([^\]]*[^\]0-9a-f:][^\]]*)\]`)
	lspciSpeed  = regexp.MustCompile(`Speed ([0-9.]+)GT/s`)
	lspciWidth  = regexp.MustCompile(`Width (x[0-9]+)`)
	lspciBus    = regexp.MustCompile(`secondary=([0-9a-f]{2}),`)
	lspciV      = regexp.MustCompile(`^Capabilities: \[[0-9a-f]{3} v`)
)

// lspciFunction is one function of a listing, with what no field of a report holds.
type lspciFunction struct {
	topology.PCIDevice
	bus       string // "0000:19"
	secondary string // for a bridge: the bus below, "0000:1a"
	model     string // marketing name in brackets
	hidden    bool   // capabilities cannot be read
	dead      bool   // every register reads as ones
	root      bool   // sits on a root bus: a host bridge, a root port or a part of the root complex
}

// importLspci reads what lspci prints with -nn, -v to -vvv, -n and -D, in any mixture. It prints no names of RDMA devices:
// NICs are named by their address.
func importLspci(data []byte, r *topology.NodeReport) error {
	functions, err := lspciFunctions(data, r)
	if err != nil {
		return err
	}
	lspciReport(functions, r)
	return nil
}

func lspciFunctions(data []byte, r *topology.NodeReport) ([]*lspciFunction, error) {
	var functions []*lspciFunction
	var at *lspciFunction
	odd, first := 0, 0
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	line := 1
	for ; sc.Scan(); line++ {
		text := strings.TrimRight(strings.ToValidUTF8(sc.Text(), ""), " \r")
		if m := lspciHead.FindStringSubmatch(text); m != nil {
			if len(functions) >= maxLspci {
				return nil, fmt.Errorf("line %d: more than %d functions: must be one node", line, maxLspci)
			}
			at = newLspciFunction(m)
			functions = append(functions, at)
			continue
		}
		switch indented := strings.TrimLeft(text, "\t "); {
		case indented == "":
		case indented == text || at == nil:
			if odd++; odd == 1 {
				first = line
			}
		default:
			at.detail(indented)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if len(functions) == 0 {
		return nil, errors.New("no PCI function: must be the text of lspci -nn or lspci -vvv")
	}
	if odd > 0 {
		lose(r, "lspci", "%d lines belong to no PCI function, the first is line %d", odd, first)
	}
	return functions, nil
}

// newLspciFunction reads a first line: domain, bus, slot and function, class, name.
func newLspciFunction(m []string) *lspciFunction {
	domain, class, name := m[1], m[4], m[5]
	if domain == "" {
		domain = "0000"
	}
	f := &lspciFunction{bus: domain + ":" + m[2]}
	f.Address = f.bus + ":" + m[3]
	if c := lspciClass.FindStringSubmatch(class); c != nil {
		f.Class = c[1]
	} else {
		f.Class = lspciClassCode(class)
	}
	f.root = f.Class == "0600"
	if f.Class != "" {
		progIf := "00"
		if p := lspciProgIf.FindStringSubmatch(name); p != nil {
			progIf = p[1]
		}
		f.Class = "0x" + f.Class + progIf
	}
	switch ids := lspciIDs.FindAllStringSubmatch(name, -1); {
	case len(ids) > 0:
		f.Vendor, f.Device = "0x"+ids[len(ids)-1][1], "0x"+ids[len(ids)-1][2]
	case strings.HasPrefix(name, "NVIDIA Corporation"):
		f.Vendor = vendorNVIDIA
	case strings.HasPrefix(name, "Mellanox Technologies"):
		f.Vendor = vendorMellanox
	}
	if d := lspciNoName.FindStringSubmatch(name); d != nil && f.Device == "" {
		f.Device = "0x" + d[1]
	}
	if n := lspciModel.FindStringSubmatch(name); n != nil && !strings.HasPrefix(n[1], "VGA") {
		f.model = n[1]
	}
	f.dead = strings.Contains(name, "(rev ff)")
	return f
}

// vendorMellanox is the vendor of ConnectX and BlueField.
const vendorMellanox = "0x15b3"

// lspciClassCode gives the code of a class that matters for paths; lspci without -nn prints names only.
func lspciClassCode(name string) string {
	return map[string]string{
		"SCSI storage controller": "0100", "RAID bus controller": "0104", "SATA controller": "0106", "Serial Attached SCSI controller": "0107",
		"Non-Volatile memory controller": "0108", "Ethernet controller": "0200", "Infiniband controller": "0207", "InfiniBand controller": "0207",
		"Network controller": "0280", "VGA compatible controller": "0300", "3D controller": "0302", "Display controller": "0380",
		"Host bridge": "0600", "PCI bridge": "0604", "Bridge": "0680", "Co-processor": "0b40", "Processing accelerators": "1200",
	}[name]
}

// detail reads one of the indented lines.
func (f *lspciFunction) detail(text string) {
	key, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "Subsystem":
		if m := lspciIDs.FindStringSubmatch(value); m != nil {
			f.SubVendor, f.SubDevice = "0x"+m[1], "0x"+m[2]
		}
	case "NUMA node":
		f.NUMANode = number(value)
	case "IOMMU group":
		f.IOMMUGroup = number(value)
	case "Physical Slot":
		f.PhysicalSlot = value
	case "Kernel driver in use":
		f.Driver = value
	case "Bus":
		if m := lspciBus.FindStringSubmatch(value); m != nil && m[1] != "00" {
			f.secondary = f.bus[:len(f.bus)-2] + m[1]
		}
	case "Capabilities":
		f.hidden = f.hidden || value == "<access denied>"
		f.root = f.root || strings.Contains(value, "Root Port") || strings.Contains(value, "Root Complex")
		if f.ACSEnabled == nil && lspciV.MatchString(text) { // the extended space is shown: a missing ACSCtl is an answer
			f.ACSEnabled = new(false)
		}
	case "LnkCap", "LnkSta":
		f.link(key, value)
	case "ACSCtl":
		f.ACSEnabled = new(lspciRedirects(value))
	}
	f.dead = f.dead || strings.HasPrefix(text, "!!! Unknown header type 7f")
}

func (f *lspciFunction) link(key, value string) {
	var speed *float64
	var width *int
	if m := lspciSpeed.FindStringSubmatch(value); m != nil {
		speed = ParseLinkSpeed(m[1] + " GT/s")
	}
	if m := lspciWidth.FindStringSubmatch(value); m != nil {
		width = ParseLinkWidth(m[1])
	}
	if speed == nil && width == nil {
		return
	}
	if f.Link == nil {
		f.Link = &topology.PCILink{}
	}
	if key == "LnkCap" {
		f.Link.MaxSpeedTransfersPerSecond, f.Link.MaxWidth = speed, width
	} else {
		f.Link.SpeedTransfersPerSecond, f.Link.Width = speed, width
	}
}

// lspciRedirects tells from ACS control flags whether peer-to-peer traffic is sent upwards. Checking the source (SrcValid)
// or blocking translated requests (TransBlk) redirects nothing.
func lspciRedirects(flags string) bool {
	for _, flag := range strings.Fields(flags) {
		switch flag {
		case "ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl+":
			return true
		}
	}
	return false
}
