package exporters_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/clearml"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/lsf"
	"github.com/railmap/railmap/exporters/pbs"
	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

const realSample = "../../shared/corpus/topo/ib/topograph-ibnetdiscover-ndr-582ca.txt"

// fabrics are a real dump (where it is at hand) and drawn ones of two and three tiers, with one and more rails.
func fabrics(t *testing.T) map[string]*topology.FabricReport {
	t.Helper()
	all := map[string]*topology.FabricReport{}
	for _, words := range []string{"core:1 leaf:3 node:4 rail:1", "core:1 pod:2 leaf:2 node:3 rail:2", "pod:2 leaf:3 node:12 rail:1"} {
		spec, err := topology.ParseSynthSpec(words)
		if err != nil {
			t.Fatal(err)
		}
		if all[words], err = topology.Synth(spec, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(realSample)
	if err != nil {
		t.Logf("no real dump here: %v", err)
		return all
	}
	defer f.Close()
	if all["real"], err = fabric.Read(f, realSample); err != nil {
		t.Fatal(err)
	}
	return all
}

// render gives the files of every target but Slurm's, which has such a test of its own.
func render(topo *topology.Topology) (map[string][]exporters.File, error) {
	files := map[string][]exporters.File{}
	var errs []error
	keep := func(target string, f []exporters.File, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", target, err))
		}
		files[target] = f
	}
	for _, k := range []struct {
		target string
		render func(*topology.Topology, kubernetes.Options) ([]exporters.File, error)
	}{{"kubernetes", kubernetes.Labels}, {"kueue", kubernetes.Kueue}, {"kai", kubernetes.KAI}, {"koordinator", kubernetes.Koordinator}, {"volcano", kubernetes.Volcano}} {
		f, err := k.render(topo, kubernetes.Options{Preset: "topograph-v1"})
		keep(k.target, f, err)
	}
	f, _, err := pbs.Export(topo, pbs.Options{})
	keep("pbs", f, err)
	f, err = lsf.Export(topo)
	keep("lsf", f, err)
	f, err = clearml.Queues(topo, clearml.Options{})
	keep("clearml", f, err)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return files, nil
}

func lint(target string, files []exporters.File) []exporters.Problem {
	switch target {
	case "pbs":
		return pbs.Lint(files)
	case "lsf":
		return lsf.Lint(files)
	case "clearml":
		return clearml.Lint(files[0].Data)
	}
	return kubernetes.Lint(files[0].Data)
}

// TestEveryCutFabricExports takes one cable after the other out of each fabric: every target still renders, its lint is silent,
// and every node of the map is in the labels.
func TestEveryCutFabricExports(t *testing.T) {
	for name, report := range fabrics(t) {
		t.Run(name, func(t *testing.T) {
			step := 1 + len(report.Links)/60 // about 60 cuts of each fabric
			for cut := 0; cut < len(report.Links); cut += step {
				broken := *report
				broken.Links = slices.Delete(slices.Clone(report.Links), cut, cut+1)
				topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{&broken}}, topology.BuildOptions{})
				if err != nil {
					t.Fatal(err)
				}
				all, err := render(topo)
				if err != nil {
					t.Fatalf("cable %d cut: %v", cut, err)
				}
				for target, files := range all {
					if p := lint(target, files); len(p) > 0 {
						t.Fatalf("cable %d cut: %s: %v", cut, target, p)
					}
				}
				labels, err := kubernetes.ReadLabels(all["kubernetes"][0].Data)
				if err != nil || len(labels) != len(topo.Nodes) {
					t.Fatalf("cable %d cut: labels of %d nodes, want %d (%v)", cut, len(labels), len(topo.Nodes), err)
				}
			}
		})
	}
}
