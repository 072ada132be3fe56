package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// FabricStage is how far a run goes. Each stage contains the ones before it.
type FabricStage string

// Stages of FabricRun.
const (
	ParseStage FabricStage = "parse" // dump -> FabricReport
	BuildStage FabricStage = "build" // -> Topology
	SlurmStage FabricStage = "slurm" // -> topology.conf
)

// FabricRun is what one process measured about itself.
type FabricRun struct {
	CPUSeconds float64 `json:"cpuSeconds"` // user and system, all threads, of the work alone
	PeakBytes  int64   `json:"peakBytes"`  // resident memory of the whole process at its highest (VmHWM of /proc/self/status)
	Devices    int     `json:"devices"`
	Switches   int     `json:"switches"`
	Links      int     `json:"links"`
	Findings   int     `json:"findings"`
}

// RunFabric does the work of a stage on a file and measures this process: call it in a fresh one.
func RunFabric(path string, stage FabricStage) (FabricRun, error) {
	var run FabricRun
	start, err := cpuSeconds()
	if err != nil {
		return run, err
	}
	f, err := os.Open(path)
	if err != nil {
		return run, err
	}
	defer f.Close()
	report, err := fabric.Read(f, path)
	if err != nil {
		return run, err
	}
	run.Devices, run.Links, run.Findings = len(report.Devices), len(report.Links), len(report.Findings)
	for i := range report.Devices {
		if report.Devices[i].Kind == topology.SwitchDevice {
			run.Switches++
		}
	}
	if stage != ParseStage {
		t, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{report}}, topology.BuildOptions{Now: time.Unix(0, 0)})
		if err != nil {
			return run, err
		}
		run.Findings = len(t.Findings)
		if stage == SlurmStage {
			if _, _, err := slurm.Tree(t, slurm.Options{ManySwitches: true}); err != nil {
				return run, err
			}
		}
	}
	end, err := cpuSeconds()
	if err != nil {
		return run, err
	}
	run.CPUSeconds = end - start
	run.PeakBytes, err = peakMemory()
	runtime.KeepAlive(report)
	return run, err
}

// cpuSeconds is the time that all threads of this process were on a processor (getrusage).
func cpuSeconds() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}

// peakMemory reads VmHWM, which the kernel prints in KiB (proc_pid_status(5)). Unlike ru_maxrss it does not inherit the
// parent's figure over exec.
func peakMemory() (int64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(rest)), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmHWM")
}

// FabricResult is one line of the benchmark.
type FabricResult struct {
	Hosts    int   `json:"hosts"`
	Rails    int   `json:"rails"`
	Switches int   `json:"switches"`
	Adapters int   `json:"adapters"`
	Links    int   `json:"links"`
	Bytes    int64 `json:"bytes"` // of the dump

	ParseBytesPerCPUSecond float64 `json:"parseBytesPerCpuSecond"`
	ParsePeakBytes         int64   `json:"parsePeakBytes"`     // of a process that parses only
	ParsePeakOverFile      float64 `json:"parsePeakOverFile"`  // ratio to the size of the dump
	ParseCPUSeconds        float64 `json:"parseCpuSeconds"`    // dump -> report
	BuildCPUSeconds        float64 `json:"buildCpuSeconds"`    // dump -> report -> map
	SlurmCPUSeconds        float64 `json:"slurmCpuSeconds"`    // dump -> report -> map -> topology.conf
	SlurmPeakBytes         int64   `json:"slurmPeakBytes"`     // of a process that does all three
	Findings               int     `json:"findings,omitempty"` // of the map; 0 for these healthy fabrics
}

// FabricOptions say what MeasureFabrics measures.
type FabricOptions struct {
	Trees   []FatTree
	Repeats int    // runs of each stage; the one with the least CPU time counts, the rest is the machine's noise
	Program string // this program; it is run as Program, Args..., stage, file and prints a FabricRun
	Args    []string
	Dir     string // for the dumps; removed by the caller
}

// MeasureFabrics writes a dump of each fabric and runs every stage in a fresh process on one processor (GOMAXPROCS=1).
func MeasureFabrics(ctx context.Context, o FabricOptions) ([]FabricResult, error) {
	var results []FabricResult
	for _, t := range o.Trees {
		path := filepath.Join(o.Dir, fmt.Sprintf("fabric-%dx%d.txt", t.Hosts, t.Rails))
		size, err := writeDump(path, t)
		if err != nil {
			return nil, err
		}
		r := FabricResult{Hosts: t.Hosts, Rails: t.Rails, Bytes: size}
		if err := r.measure(ctx, o, path); err != nil {
			return nil, fmt.Errorf("%d hosts x %d rails: %w", t.Hosts, t.Rails, err)
		}
		results = append(results, r)
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func writeDump(path string, t FatTree) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	if err := FabricText(f, t); err != nil {
		f.Close()
		return 0, err
	}
	size, err := f.Seek(0, 1)
	if err != nil {
		f.Close()
		return 0, err
	}
	return size, f.Close()
}

func (r *FabricResult) measure(ctx context.Context, o FabricOptions, path string) error {
	best := map[FabricStage]FabricRun{}
	for range max(1, o.Repeats) {
		for _, stage := range []FabricStage{ParseStage, BuildStage, SlurmStage} {
			out, err := runChild(ctx, o.Program, append(append([]string{}, o.Args...), string(stage), path))
			if err != nil {
				return err
			}
			var run FabricRun
			if err := json.Unmarshal(out, &run); err != nil {
				return fmt.Errorf("%s printed %q: %w", o.Program, out, err)
			}
			if b, ok := best[stage]; !ok || run.CPUSeconds < b.CPUSeconds {
				best[stage] = run
			}
		}
	}
	p, s := best[ParseStage], best[SlurmStage]
	r.Switches, r.Adapters, r.Links, r.Findings = p.Switches, p.Devices-p.Switches, p.Links, s.Findings
	r.ParseCPUSeconds, r.BuildCPUSeconds, r.SlurmCPUSeconds = p.CPUSeconds, best[BuildStage].CPUSeconds, s.CPUSeconds
	r.ParseBytesPerCPUSecond = float64(r.Bytes) / p.CPUSeconds
	r.ParsePeakBytes, r.SlurmPeakBytes = p.PeakBytes, s.PeakBytes
	r.ParsePeakOverFile = float64(p.PeakBytes) / float64(r.Bytes)
	return nil
}
