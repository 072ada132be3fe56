package fabric

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/railmap/railmap/topology"
)

// twoLevel makes the report of a healthy fat tree: groups of down hosts, one leaf a rail and group, one cable from each leaf to
// each spine.
func twoLevel(hosts, rails, down, spines int) *topology.FabricReport {
	groups := (hosts + down - 1) / down
	leaves := groups * rails
	var devices []topology.FabricDevice
	var links []topology.FabricLink
	add := func(d topology.FabricDevice) int32 {
		d.SystemImageGUID, d.VendorID = d.GUID, 0x2c9
		devices = append(devices, d)
		return int32(len(devices) - 1)
	}
	cable := func(a, ap, b, bp int) {
		links = append(links, topology.FabricLink{A: topology.FabricEnd{Device: int32(a), Port: int32(ap)}, B: topology.FabricEnd{Device: int32(b), Port: int32(bp)},
			Width: 4, Speed: topology.SpeedHDR, BandwidthBytesPerSecond: 25e9})
	}
	for i := range leaves {
		add(topology.FabricDevice{GUID: topology.GUID(0x2c90200000000 + i), Kind: topology.SwitchDevice, DeviceID: 0xd2f0, PortCount: 40, Description: fmt.Sprintf("MF0;leaf%d:MQM8700/U1", i)})
	}
	for i := range spines {
		add(topology.FabricDevice{GUID: topology.GUID(0x2c90400000000 + i), Kind: topology.SwitchDevice, DeviceID: 0xd2f0, PortCount: 40, Description: fmt.Sprintf("MF0;spine%d:MQM8700/U1", i)})
		for l := range leaves {
			cable(l, down+1+i, leaves+i, l+1)
		}
	}
	for h := range hosts {
		for r := range rails {
			g := topology.GUID(0x2c90300000000 + h*256 + r*16)
			id := add(topology.FabricDevice{GUID: g, Kind: topology.AdapterDevice, DeviceID: 0x101b, PortCount: 1, Description: fmt.Sprintf("node%04d mlx5_%d", h, r),
				Ports: []topology.PortInfo{{Number: 1, GUID: g + 1}}})
			cable(int(id), 1, h/down*rails+r, h%down+1)
		}
	}
	return sortedReport(SourceIbnetdiscover, devices, links)
}

// text is the report as ibnetdiscover prints it.
func text(t testing.TB, r *topology.FabricReport) string {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteIbnetdiscover(&buf, r); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func parse(t testing.TB, s string) *topology.FabricReport {
	t.Helper()
	r, err := Read(strings.NewReader(s), "test.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

// codes gives the codes of the findings, each once, sorted.
func codes(r *topology.FabricReport) string {
	var c []string
	for _, f := range r.Findings {
		c = append(c, f.Code)
	}
	slices.Sort(c)
	return strings.Join(slices.Compact(c), " ")
}

// bare drops the findings, for comparisons of content.
func bare(r *topology.FabricReport) *topology.FabricReport {
	c := *r
	c.Findings = nil
	return &c
}

func copyAll(b *strings.Builder, r io.Reader) (int64, error) { return io.Copy(b, r) }

func shuffle[T any](seed uint64, list []T) {
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
