package topology_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

const realSample = "../../shared/corpus/topo/ib/topograph-ibnetdiscover-ndr-582ca.txt"

// readFabric parses a dump of the corpus, or skips the test where there is none.
func readFabric(t testing.TB, path string) *topology.FabricReport {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no corpus here: %v", err)
	}
	defer f.Close()
	r, err := fabric.Read(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func synth(t testing.TB, spec string, faults ...topology.Fault) *topology.FabricReport {
	t.Helper()
	s, err := topology.ParseSynthSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := topology.Synth(s, 1, faults)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// build makes a map and holds it against its own rules.
func build(t testing.TB, opts topology.BuildOptions, reports ...*topology.FabricReport) *topology.Topology {
	t.Helper()
	topo, err := topology.Build(topology.Input{Fabrics: reports}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := topo.Validate(); err != nil {
		t.Fatalf("invalid map: %v", err)
	}
	return topo
}

func encode(t testing.TB, topo *topology.Topology) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := topology.Write(&buf, topo, topology.JSON); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// without removes links (by index) and the devices that have no cable left: a subnet manager does not see those.
func without(r *topology.FabricReport, cut ...int) *topology.FabricReport {
	out := &topology.FabricReport{Header: r.Header}
	keep := make([]bool, len(r.Devices))
	for i, l := range r.Links {
		if !slices.Contains(cut, i) {
			keep[l.A.Device], keep[l.B.Device] = true, true
			out.Links = append(out.Links, l)
		}
	}
	index := make([]int32, len(r.Devices))
	for i, d := range r.Devices {
		if keep[i] {
			index[i] = int32(len(out.Devices))
			out.Devices = append(out.Devices, d)
		}
	}
	for i := range out.Links {
		out.Links[i].A.Device, out.Links[i].B.Device = index[out.Links[i].A.Device], index[out.Links[i].B.Device]
	}
	return out
}

// shuffled gives the same fabric with devices, links and link ends in another order.
func shuffled(r *topology.FabricReport, rng *rand.Rand) *topology.FabricReport {
	out := &topology.FabricReport{Header: r.Header, Findings: r.Findings, Devices: make([]topology.FabricDevice, len(r.Devices))}
	to := rng.Perm(len(r.Devices))
	for i, d := range r.Devices {
		out.Devices[to[i]] = d
	}
	for _, i := range rng.Perm(len(r.Links)) {
		l := r.Links[i]
		l.A.Device, l.B.Device = int32(to[l.A.Device]), int32(to[l.B.Device])
		if rng.IntN(2) == 0 {
			l.A, l.B = l.B, l.A
		}
		out.Links = append(out.Links, l)
	}
	return out
}

// places maps each node to its group and the level and depth of every group, for comparing trees.
func places(topo *topology.Topology) map[string]string {
	out := map[string]string{}
	for _, n := range topo.Nodes {
		out[n.Name] = n.Group
	}
	return out
}

func depth(topo *topology.Topology) int {
	at := map[string]int{}
	most := 0
	for _, g := range topo.Tree.Groups {
		at[g.Name] = 1
		if g.Parent != "" {
			at[g.Name] = at[g.Parent] + 1
		}
		most = max(most, at[g.Name])
	}
	return most
}

func roots(topo *topology.Topology) int {
	n := 0
	for _, g := range topo.Tree.Groups {
		if g.Parent == "" {
			n++
		}
	}
	return n
}

// newFindings lists findings that the healthy map does not have.
func newFindings(before, after *topology.Topology) []topology.Finding {
	var out []topology.Finding
	for _, f := range after.Findings {
		if !slices.Contains(before.Findings, f) {
			out = append(out, f)
		}
	}
	return out
}

func mentions(findings []topology.Finding, words ...string) bool {
	return slices.ContainsFunc(findings, func(f topology.Finding) bool {
		for _, w := range words {
			if strings.Contains(f.Subject, w) || strings.Contains(f.Message, w) {
				return true
			}
		}
		return false
	})
}

// cutFabrics are the fabrics that every cut test runs on.
func cutFabrics(t *testing.T) map[string]*topology.FabricReport {
	fabrics := map[string]*topology.FabricReport{
		"2 tiers, 1 rail":  synth(t, "leaf:6 node:8 rail:1 spine:4"),
		"2 tiers, 8 rails": synth(t, "leaf:3 node:4 rail:8 spine:2"),
		"3 tiers, 1 rail":  synth(t, "core:2 pod:3 leaf:4 node:4 rail:1 spine:4"),
		"3 tiers, 8 rails": synth(t, "core:1 pod:2 leaf:3 node:3 rail:8 spine:2 uplink:4"),
	}
	if _, err := os.Stat(realSample); err == nil {
		fabrics["real sample"] = readFabric(t, realSample)
	}
	return fabrics
}

// TestEveryHostCableCut takes out each host cable in turn: the host stays in its group while it has a rail left, and a
// finding names it; without one it leaves the map of a fabric-only build, and the list of asked hosts names it.
func TestEveryHostCableCut(t *testing.T) {
	for name, r := range cutFabrics(t) {
		t.Run(name, func(t *testing.T) {
			before := build(t, topology.BuildOptions{}, r)
			want := places(before)
			hosts := nodeNames(before)
			cuts := 0
			for i, l := range r.Links {
				host := hostOf(before, r, l)
				if host == "" {
					continue
				}
				cuts++
				after := build(t, topology.BuildOptions{Hosts: hosts}, without(r, i))
				got := places(after)
				found := newFindings(before, after)
				if !mentions(found, host) {
					t.Fatalf("cable %d of %s cut: no finding names the host: %v", i, host, found)
				}
				for n, g := range want {
					if got[n] != g && n != host {
						t.Fatalf("cable of %s cut: %s moved from %q to %q", host, n, g, got[n])
					}
				}
				if rails := railsOf(before, host); rails > 1 && got[host] != want[host] {
					t.Fatalf("%s lost one of %d rails and moved from %q to %q", host, rails, want[host], got[host])
				}
				if len(got) != len(want) || depth(after) != depth(before) || roots(after) != roots(before) {
					t.Fatalf("cable of %s cut: %d nodes, depth %d, %d roots; want %d, %d, %d", host, len(got), depth(after), roots(after), len(want), depth(before), roots(before))
				}
			}
			t.Logf("%d host cables cut", cuts)
		})
	}
}

func nodeNames(topo *topology.Topology) []string {
	var out []string
	for _, n := range topo.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// hostOf names the node at the adapter end of a cable, "" for other cables and adapters without a host.
func hostOf(topo *topology.Topology, r *topology.FabricReport, l topology.FabricLink) string {
	for _, e := range []topology.FabricEnd{l.A, l.B} {
		guid := r.Devices[e.Device].GUID
		for i := range topo.Nodes {
			for _, c := range topo.Nodes[i].NICs {
				if c.GUID == guid && c.Port == int(e.Port) {
					return topo.Nodes[i].Name
				}
			}
		}
	}
	return ""
}

func railsOf(topo *topology.Topology, host string) int {
	n := 0
	for _, node := range topo.Nodes {
		if node.Name == host {
			for _, c := range node.NICs {
				if c.Rail != nil {
					n++
				}
			}
		}
	}
	return n
}

// TestEveryUplinkLost takes out all cables of each pair of switches in turn: same groups, same depth, one root, and a
// finding that names the pair.
func TestEveryUplinkLost(t *testing.T) {
	for name, r := range cutFabrics(t) {
		t.Run(name, func(t *testing.T) {
			before := build(t, topology.BuildOptions{}, r)
			pairs := map[string][]int{}
			for i, l := range r.Links {
				if r.Devices[l.A.Device].Kind == topology.SwitchDevice && r.Devices[l.B.Device].Kind == topology.SwitchDevice {
					k := fmt.Sprint(l.A.Device, "-", l.B.Device)
					pairs[k] = append(pairs[k], i)
				}
			}
			for k, cut := range pairs {
				after := build(t, topology.BuildOptions{}, without(r, cut...))
				if diff := cmp.Diff(places(before), places(after)); diff != "" {
					t.Fatalf("pair %s lost: nodes moved (-want +got):\n%s", k, diff)
				}
				if depth(after) != depth(before) || roots(after) != roots(before) {
					t.Fatalf("pair %s lost: depth %d, %d roots; want %d, %d", k, depth(after), roots(after), depth(before), roots(before))
				}
				l := r.Links[cut[0]]
				a, b := switchNameOf(before, r, l.A.Device), switchNameOf(before, r, l.B.Device)
				if found := newFindings(before, after); !mentions(found, a, b) {
					t.Fatalf("%s - %s lost: no finding names it: %v", a, b, found)
				}
			}
			t.Logf("%d pairs of switches parted", len(pairs))
		})
	}
}

func switchNameOf(topo *topology.Topology, r *topology.FabricReport, d int32) string {
	for _, s := range topo.Switches {
		if s.GUID == r.Devices[d].GUID {
			return s.Name
		}
	}
	return ""
}

// TestInputOrderDoesNotMatter builds each fabric 20 times from shuffled records: the same bytes every time.
func TestInputOrderDoesNotMatter(t *testing.T) {
	fabrics := cutFabrics(t)
	hurt, _ := filepath.Glob("../../shared/corpus/fabric/ib/hurt-*/ibnetdiscover.txt")
	for _, path := range hurt {
		fabrics[filepath.Base(filepath.Dir(path))] = readFabric(t, path)
	}
	fabrics["many faults"] = synth(t, "core:1 pod:2 leaf:4 node:8 rail:4 spine:2", topology.Fault{Kind: "cable", Count: 4}, topology.Fault{Kind: "swap", Count: 2},
		topology.Fault{Kind: "twin", Count: 2}, topology.Fault{Kind: "unnamed", Count: 3}, topology.Fault{Kind: "switch", Count: 1}, topology.Fault{Kind: "slow", Count: 3})
	for name, r := range fabrics {
		t.Run(name, func(t *testing.T) {
			want := encode(t, build(t, topology.BuildOptions{}, r))
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 20 {
				if got := encode(t, build(t, topology.BuildOptions{}, shuffled(r, rng))); !bytes.Equal(got, want) {
					t.Fatalf("run %d differs:\n%s", i, cmp.Diff(string(want), string(got)))
				}
			}
		})
	}
}

// TestSubsetsKeepTiers asks for random subsets of hosts: no switch changes its tier, no node its group, and the depth of the
// tree is that of the whole fabric's path.
func TestSubsetsKeepTiers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, r := range cutFabrics(t) {
		t.Run(name, func(t *testing.T) {
			whole := build(t, topology.BuildOptions{}, r)
			hosts := nodeNames(whole)
			for range 50 {
				rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
				asked := hosts[:1+rng.IntN(len(hosts))]
				part := build(t, topology.BuildOptions{Hosts: asked}, r)
				if len(part.Nodes) != len(asked) {
					t.Fatalf("asked for %d hosts, got %d", len(asked), len(part.Nodes))
				}
				if diff := cmp.Diff(whole.Switches, part.Switches); diff != "" {
					t.Fatalf("switches changed (-whole +part):\n%s", diff)
				}
				want, got := places(whole), places(part)
				for n := range got {
					if got[n] != want[n] {
						t.Fatalf("%s moved from %q to %q", n, want[n], got[n])
					}
				}
				if depth(part) != depth(whole) {
					t.Fatalf("depth %d for %d hosts, want %d", depth(part), len(asked), depth(whole))
				}
			}
		})
	}
}

// TestPartialFabricKeepsTiers takes hosts away, as if they were switched off: what is left keeps its tiers.
func TestPartialFabricKeepsTiers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, r := range cutFabrics(t) {
		t.Run(name, func(t *testing.T) {
			whole := build(t, topology.BuildOptions{}, r)
			tier := map[string]int{}
			for _, s := range whole.Switches {
				tier[s.Name] = s.Tier
			}
			for range 30 {
				off := rng.Float64()
				var cut []int
				down := map[string]bool{}
				for _, n := range whole.Nodes {
					down[n.Name] = rng.Float64() < off
				}
				for i, l := range r.Links {
					if h := hostOf(whole, r, l); h != "" && down[h] {
						cut = append(cut, i)
					}
				}
				part := build(t, topology.BuildOptions{}, without(r, cut...))
				for _, s := range part.Switches {
					if s.Tier != tier[s.Name] {
						t.Fatalf("%.0f %% of hosts off: %s went from tier %d to %d", 100*off, s.Name, tier[s.Name], s.Tier)
					}
				}
			}
		})
	}
}
