package fabric

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct{ hosts, rails, down, spines int }{{1, 1, 1, 0}, {8, 1, 4, 2}, {32, 8, 8, 4}, {33, 2, 16, 3}} {
		want := twoLevel(tt.hosts, tt.rails, tt.down, tt.spines)
		first := text(t, want)
		got := parse(t, first)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%v: parsed differs (-want +got):\n%s", tt, diff)
		}
		if second := text(t, got); second != first {
			t.Errorf("%v: second writing differs", tt)
		}
	}
}

func TestCorpusRoundTrip(t *testing.T) {
	for _, path := range []string{"topo/ib/topograph-ibnetdiscover-ndr-582ca.txt", "fabric/ib/rail8x32-hurt/ibnetdiscover.txt", "fabric/ib/hurt-dualport/ibnetdiscover.txt", "fabric/ib/hurt-names/ibnetdiscover.txt"} {
		want, err := Read(corpus(t, path), path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, parse(t, text(t, want))); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", path, diff)
		}
	}
}

// records cuts a dump into its records: the order in which a tool prints them must not matter.
func records(s string) (head string, list []string) {
	parts := strings.Split(s, "\n\n")
	return parts[0], parts[1:]
}

func TestRecordOrderDoesNotMatter(t *testing.T) {
	sources := map[string]string{"made": text(t, twoLevel(24, 4, 8, 3))}
	for _, path := range []string{"topo/ib/topograph-ibnetdiscover-ndr-582ca.txt", "fabric/ib/hurt-names/ibnetdiscover.txt"} {
		var buf bytes.Buffer
		if _, err := buf.ReadFrom(corpus(t, path)); err != nil {
			t.Fatal(err)
		}
		sources[path] = buf.String()
	}
	// a broken one too: a one-sided cable, a conflict, a peer without a record, two records of one GUID that differ
	broken := strings.Replace(sources["made"], "[1]\t\"H-", "[9]\t\"H-", 1) + "\nvendid=0x2c9\nCa\t1 \"H-0002c90300000000\"\t\t# \"other mlx5_0\"\n[1](2c90300000001) \t\"S-0002c90200000063\"[7]\t\t# lid 1 lmc 0 \"leaf99\" lid 5 4xHDR\n"
	sources["broken"] = broken
	for name, s := range sources {
		want := parse(t, s)
		head, list := records(strings.TrimRight(s, "\n"))
		for seed := range uint64(20) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			got := parse(t, head+"\n\n"+strings.Join(list, "\n\n")+"\n")
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, seed %d: (-want +got):\n%s", name, seed, diff)
			}
		}
	}
}

// TestOddInputs is the list of inputs that are known to confuse readers of ibnetdiscover.
func TestOddInputs(t *testing.T) {
	whole := twoLevel(64, 1, 16, 4)
	plain := text(t, whole)
	upper := strings.NewReplacer("(2c90300000001)", "(2C90300000001)", "H-0002c90300000100", "H-0002C90300000100").Replace(plain)
	for _, tt := range []struct{ name, in string }{
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"no end of line at the end", strings.TrimRight(plain, "\n")},
		{"empty lines at the end", plain + "\n\n\n"},
		{"no empty lines at all", strings.ReplaceAll(plain, "\n\n", "\n")},
		{"file twice", plain + plain},
		{"upper-case GUIDs", upper},
		{"byte order mark", "\ufeff" + plain},
		{"trailing words of --full and of later tools", strings.ReplaceAll(plain, "4xHDR\n", "4xHDR s=4 w=2 v=4 q=7 new\n")},
		{"max hops comments", strings.Replace(plain, "#\n", "#\n# Reported max hops discovered: 4\n# Total MADs used: 1212\n", 1)},
		{"chassis headings", strings.Replace(plain, "\nvendid", "\nChassis 1 (guid 0x2c90200000001)\nHostname: x\n\n# Spine Nodes\nvendid", 1) + "\nNon-Chassis Nodes\n"},
		{"chassis comments", strings.ReplaceAll(plain, "sysimgguid=0x2c90200000001\n", "sysimgguid=0x2c90200000001\t\t# Chassis 1 (x) slot 2\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(whole, parse(t, tt.in)); diff != "" {
				t.Errorf("differs from the plain file (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(whole, mustReadSlowly(t, tt.in)); diff != "" {
				t.Errorf("one byte at a time differs:\n%s", diff)
			}
		})
	}
}

func mustReadSlowly(t *testing.T, s string) *topology.FabricReport {
	r, err := ParseIbnetdiscover(iotest.OneByteReader(strings.NewReader(s)), "test.txt")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInputsThatAreNoFabric(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "the input is empty"},
		{"blank", " \n\n", "blank space"},
		{"header only", "#\n# Topology file: generated on Wed Aug  6 16:11:23 2025\n#\n", "comments only"},
		{"random bytes", string(randomBytes(4096)), "binary data"},
		{"long random bytes", string(randomBytes(1 << 20)), "test.txt"},
		{"html", "<!DOCTYPE html>\n<html><body>404</body></html>\n", "web page"},
		{"json", "{\"a\": 1}\n", "JSON"},
		{"list", "Ca\t : 0x0002c90300001f00 ports 1 devid 0x1021 vendid 0x2c9 \"node0031 mlx5_0\"\n", "ibnetdiscover -l"},
		{"text", strings.Repeat("lorem ipsum\n", 5000), "other text"},
		{"diff", "\nvendid=0x2c9\ndevid=0xd2f0\nswitchguid=0x1(1)\nSwitch\t40 \"S-0000000000000001\"\t\t# \"x\" base port 0 lid 1 lmc 0\n< [1]\t\"S-0000000000000002\"[1]\t\t# \"y\" lid 2 4xHDR\n", "test.txt:6: this is the output of --diff"},
		{"diff of iblinkinfo", "CA: a b:\n< " + linkRow + "\n", "test.txt:2: this is the output of --diff"},
		{"long line", "#\n" + strings.Repeat("x", 70000) + "\n", "test.txt:2: line is longer than 65536 bytes"},
		{"long line without end", "#\n" + strings.Repeat("x", 300000), "test.txt:2: line is longer than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Read(strings.NewReader(tt.in), "test.txt")
			if err == nil {
				t.Fatalf("read as %d devices, want an error", len(r.Devices))
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want it to contain %q", err, tt.want)
			}
		})
	}
}

const linkRow = `      0x0002c90300000411     49    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       4    5[  ] "leaf1" ( )`

func randomBytes(n int) []byte {
	b := make([]byte, n)
	g := rand.New(rand.NewPCG(3, 4))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

func TestReadErrorCarriesPlace(t *testing.T) {
	_, err := ParseIbnetdiscover(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("#\n#\n"))), "x.txt")
	if err == nil || !strings.HasPrefix(err.Error(), "x.txt:1: ") {
		t.Errorf("error %v, want it to begin with x.txt:1", err)
	}
}

// Whatever byte an input is cut at, it gives an error or a report; a report that lacks something says so.
func TestCutAnywhere(t *testing.T) {
	whole := twoLevel(6, 2, 3, 2)
	plain := strings.TrimRight(text(t, whole), "\n")
	for n := range len(plain) {
		r, err := Read(strings.NewReader(plain[:n]), "test.txt")
		if err != nil {
			continue
		}
		if len(r.Findings) == 0 {
			if diff := gocmp.Diff(bare(whole), bare(r)); diff != "" {
				t.Fatalf("cut at %d of %d without a finding; lost:\n%s", n, len(plain), diff)
			}
		}
	}
	for _, share := range []int{10, 25, 50, 75, 95} {
		r, err := Read(strings.NewReader(plain[:len(plain)*share/100]), "test.txt")
		if err != nil {
			t.Fatalf("cut at %d %%: %v", share, err)
		}
		if !strings.Contains(codes(r), CodeInputCut) {
			t.Errorf("cut at %d %%: findings %s, want %s", share, codes(r), CodeInputCut)
		}
	}
}

func TestDamagedLines(t *testing.T) {
	plain := text(t, twoLevel(8, 1, 4, 2))
	for _, tt := range []struct{ name, old, new, codes string }{
		{"NUL in a name", "# \"node0003 mlx5_0\"\n", "# \"node\x000003 mlx5_0\"\n", CodeNameCleaned},
		{"unknown speed word", "\"MF0;leaf0:MQM8700/U1\" lid 1 4xHDR\n", "\"MF0;leaf0:MQM8700/U1\" lid 1 4xWDR\n", CodeLineNotUnderstood + " " + CodeUnknownSpeed},
		{"speed the tool did not know", "4xHDR\n", "4x???\n", CodeUnknownSpeed},
		{"garbage line", "\nvendid", "\ngarbage here\nvendid", CodeLineNotUnderstood},
		{"port number out of range", "[1]\t\"H-", "[300]\t\"H-", CodeLineNotUnderstood + " " + CodeOneSidedCable},
		{"a cable from one end only", "[1]\t\"H-0002c90300000000\"[1](2c90300000001) \t\t# \"node0000 mlx5_0\" lid 3 4xHDR\n", "", CodeOneSidedCable},
		{"ends disagree", "[1](2c90300000001) \t\"S-0002c90200000000\"[1]\t\t# lid 3 lmc 0 \"MF0;leaf0:MQM8700/U1\" lid 1 4xHDR", "[1](2c90300000001) \t\"S-0002c90200000000\"[1]\t\t# lid 3 lmc 0 \"MF0;leaf0:MQM8700/U1\" lid 1 2xHDR", CodeEndsDisagree},
		{"ids without a node line", "\nvendid", "\nvendid=0x2c9\ndevid=0x1\n\nvendid", CodeLineNotUnderstood},
		{"two GUIDs in one record", "caguid=0x2c90300000000\n", "caguid=0x2c90300000009\n", CodeConflictingRecords},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.Replace(plain, tt.old, tt.new, 1)
			if in == plain {
				t.Fatalf("the text does not hold %q", tt.old)
			}
			if tt.name == "speed the tool did not know" {
				in = strings.ReplaceAll(plain, tt.old, tt.new)
			}
			r := parse(t, in)
			if got := codes(r); got != tt.codes {
				t.Errorf("findings %q, want %q:\n%v", got, tt.codes, r.Findings)
			}
			if len(r.Devices) != 12 || len(r.Links) != 12 {
				t.Errorf("%d devices and %d links, want 12 and 12", len(r.Devices), len(r.Links))
			}
		})
	}
}

func TestNamesAsPrinted(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"node0001 mlx5_0", "node0001 mlx5_0"}, {"\"host\" mlx5", "\"host\" mlx5"}, {"", ""}, {"  two  spaces ", "two  spaces"}, {"Knoten-Ä mlx5_0", "Knoten-Ä mlx5_0"},
		{"a\x01b\x7fc", "abc"}, {"bad\xff\xfe", "bad"}, {strings.Repeat("n", 300), strings.Repeat("n", 256)}, {"# lid 3 4xHDR", "# lid 3 4xHDR"}, {"MT4129 ConnectX7   Mellanox Technologies", "MT4129 ConnectX7   Mellanox Technologies"},
	} {
		in := strings.ReplaceAll(text(t, twoLevel(2, 1, 2, 1)), "node0000 mlx5_0", tt.in)
		r := parse(t, in)
		i := 0
		for r.Devices[i].GUID != 0x2c90300000000 {
			i++
		}
		if got := r.Devices[i].Description; got != tt.want {
			t.Errorf("%q read as %q, want %q", tt.in, got, tt.want)
		}
		if len(r.Links) != 3 {
			t.Errorf("%q: %d links, want 3", tt.in, len(r.Links))
		}
	}
}

func TestChassisPorts(t *testing.T) {
	r := parse(t, `
vendid=0x8f1
devid=0x5a30
sysimgguid=0x8f10400000000		# Chassis 1
switchguid=0x8f10400000001(8f10400000001)	# Line 1 slot 3
Switch	24 "S-0008f10400000001"		# "ISR9024 Voltaire" base port 0 lid 3 lmc 0
[1][ext 13]	"S-0008f10400000002"[7][ext 14]		# "ISR9024 Voltaire" lid 4 4xDDR
[2][ext 12]	"H-0008f10400000010"[1](8f10400000011) 		# "node1 HCA-1" lid 8 4xDDR slot 2

vendid=0x8f1
devid=0x5a30
switchguid=0x8f10400000002(8f10400000002)	# 
Switch	24 "S-0008f10400000002"		# "ISR9024 Voltaire" base port 0 lid 4 lmc 0
[7][ext 14]	"S-0008f10400000001"[1][ext 13]		# "ISR9024 Voltaire" lid 3 4xDDR

vendid=0x8f1
devid=0x6278
caguid=0x8f10400000010
Ca	2 "H-0008f10400000010"		# "node1 HCA-1" (scp)
[1](8f10400000011) 	"S-0008f10400000001"[2][ext 12]		# lid 8 lmc 0 "ISR9024 Voltaire" lid 3 4xDDR
[2](8f10400000012) 	"H-0008f10400000020"[1] (8f10400000021) 		# lid 9 lmc 0 "node2 HCA-1" lid 10 1xSDR

vendid=0x8f1
devid=0x6278
rtguid=0x8f10400000020
Rt	1 "R-0008f10400000020"		# "router"
[1](8f10400000021) 	"H-0008f10400000010"[2] (8f10400000012) 		# lid 10 lmc 0 "node1 HCA-1" lid 9 1xSDR
`)
	if len(r.Links) != 3 || codes(r) != "" {
		t.Fatalf("links %v, findings %v", r.Links, r.Findings)
	}
	want := []topology.PortInfo{{Number: 1, External: 13}, {Number: 2, External: 12}}
	if diff := gocmp.Diff(want, r.Devices[0].Ports); diff != "" {
		t.Errorf("ports of the chassis (-want +got):\n%s", diff)
	}
	if d := r.Devices[3]; d.Kind != topology.RouterDevice || d.Description != "router" {
		t.Errorf("router read as %+v", d)
	}
	if want, got := []topology.PortInfo{{Number: 1, GUID: 0x8f10400000011}, {Number: 2, GUID: 0x8f10400000012}}, r.Devices[2].Ports; gocmp.Diff(want, got) != "" {
		t.Errorf("ports of the adapter %+v", got)
	}
	if l := r.Links[2]; l.Width != 1 || l.Speed != topology.SpeedSDR || l.BandwidthBytesPerSecond != 250e6 {
		t.Errorf("back-to-back cable %+v", l)
	}
}

func TestLoopsAndParallelCables(t *testing.T) {
	head := "vendid=0x2c9\ndevid=0xd2f0\nswitchguid=0x2c90200000001(2c90200000001)\nSwitch\t40 \"S-0002c90200000001\"\t\t# \"sw\" base port 0 lid 1 lmc 0\n"
	line := func(a, b int) string {
		return fmt.Sprintf("[%d]\t\"S-0002c90200000001\"[%d]\t\t# \"sw\" lid 1 4xHDR\n", a, b)
	}
	r := parse(t, head+line(1, 1)+line(2, 3)+line(3, 2))
	want := []topology.FabricLink{
		{A: topology.FabricEnd{Device: 0, Port: 1}, B: topology.FabricEnd{Device: 0, Port: 1}, Width: 4, Speed: topology.SpeedHDR, BandwidthBytesPerSecond: 25e9},
		{A: topology.FabricEnd{Device: 0, Port: 2}, B: topology.FabricEnd{Device: 0, Port: 3}, Width: 4, Speed: topology.SpeedHDR, BandwidthBytesPerSecond: 25e9},
	}
	if diff := gocmp.Diff(want, r.Links); diff != "" || codes(r) != "" {
		t.Errorf("findings %v (-want +got):\n%s", r.Findings, diff)
	}
}

func TestConflictingCables(t *testing.T) {
	plain := text(t, twoLevel(4, 1, 4, 1))
	// node0001 was moved to port 9 while the fabric was read: the switch still prints the old place
	moved := strings.Replace(plain, "\"S-0002c90200000000\"[2]", "\"S-0002c90200000000\"[1]", 1)
	r := parse(t, moved)
	if codes(r) != CodeConflictingCables+" "+CodeOneSidedCable {
		t.Errorf("findings %v", r.Findings)
	}
	ends := map[topology.FabricEnd]int{}
	for _, l := range r.Links {
		ends[l.A]++
		ends[l.B]++
	}
	for e, n := range ends {
		if n > 1 {
			t.Errorf("port %v has %d cables", e, n)
		}
	}
}

// Any subset of lines in any order gives an error or a report in which each port has one cable at most and indices are sound.
func TestAnyLines(t *testing.T) {
	all := strings.SplitAfter(text(t, twoLevel(6, 2, 3, 2)), "\n")
	rapid.Check(t, func(rt *rapid.T) {
		pick := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 0, 60).Draw(rt, "lines")
		var b strings.Builder
		for _, i := range pick {
			b.WriteString(all[i])
		}
		r, err := Read(strings.NewReader(b.String()), "test.txt")
		if err != nil {
			return
		}
		checkSound(rt, r)
	})
}

type fataler interface{ Fatalf(string, ...any) }

// checkSound holds what every report promises.
func checkSound(t fataler, r *topology.FabricReport) {
	if err := r.Validate(); err != nil {
		t.Fatalf("%v", err)
	}
	ends := map[topology.FabricEnd]bool{}
	for i, l := range r.Links {
		if compareEnds(l.A, l.B) > 0 {
			t.Fatalf("links[%d]: A is the larger end", i)
		}
		if ends[l.A] || ends[l.B] {
			t.Fatalf("links[%d]: a port has two cables", i)
		}
		ends[l.A], ends[l.B] = true, true
		if i > 0 && compareLinks(r.Links[i-1], l) >= 0 {
			t.Fatalf("links[%d] is out of order", i)
		}
	}
	for i := range r.Devices {
		if i > 0 && compareDevices(&r.Devices[i-1], &r.Devices[i]) >= 0 {
			t.Fatalf("devices[%d] is out of order or twice", i)
		}
		for j, p := range r.Devices[i].Ports {
			if j > 0 && r.Devices[i].Ports[j-1].Number >= p.Number {
				t.Fatalf("devices[%d].ports[%d] is out of order", i, j)
			}
		}
	}
}
