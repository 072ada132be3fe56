package bench

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
)

// Job is one gang of a trace.
type Job struct {
	Arrival  float64 // seconds
	Nodes    int
	Duration float64 // seconds at ideal bandwidth
}

// maxTraceJobs bounds a trace.
const maxTraceJobs = 1 << 20

// ReadTrace reads a CSV file with the columns arrival_s, nodes and duration_s; other columns are ignored.
func ReadTrace(path string) ([]Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	jobs, err := parseTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return jobs, nil
}

func parseTrace(r io.Reader) ([]Job, error) {
	cr := csv.NewReader(r)
	cr.ReuseRecord = true
	head, err := cr.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	at := map[string]int{}
	for i, name := range head {
		at[name] = i
	}
	for _, name := range []string{"arrival_s", "nodes", "duration_s"} {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("header: must have the columns arrival_s, nodes and duration_s; %s is missing", name)
		}
	}
	var jobs []Job
	for {
		rec, err := cr.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := cr.FieldPos(0)
		var v [3]float64
		for i, name := range []string{"arrival_s", "nodes", "duration_s"} {
			if v[i], err = strconv.ParseFloat(rec[at[name]], 64); err != nil || !(v[i] >= 0) || v[i] > 1e12 {
				return nil, fmt.Errorf("line %d: %s is %q: must be a number that is not negative", line, name, rec[at[name]])
			}
		}
		if jobs = append(jobs, Job{v[0], int(v[1]), v[2]}); jobs[len(jobs)-1].Nodes < 1 || v[1] > 1e6 || len(jobs) > maxTraceJobs {
			return nil, fmt.Errorf("line %d: nodes must be between 1 and 1e6, and the trace at most %d jobs", line, maxTraceJobs)
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	if len(jobs) == 0 {
		return nil, fmt.Errorf("holds no job")
	}
	return jobs, nil
}

// SynthTrace draws a trace from the default job mix: Poisson arrivals, durations log-normal around 1200 s × sqrt(nodes).
func SynthTrace(n int, seed uint64) []Job {
	rng := rand.New(rand.NewPCG(seed, 11))
	jobs := make([]Job, n)
	t := 0.0
	for i := range jobs {
		k := drawSize(rng, 256)
		t += rng.ExpFloat64()
		jobs[i] = Job{Arrival: t, Nodes: k, Duration: min(7*86400, max(30, 1200*math.Sqrt(float64(k))*math.Exp(1.5*rng.NormFloat64())))}
	}
	return jobs
}

// scaleTo stretches arrivals so that the jobs at ideal speed use the given share of the cluster, and caps gangs.
func scaleTo(jobs []Job, nodes int, load float64) []Job {
	out := slices.Clone(jobs)
	work := 0.0
	for i := range out {
		out[i].Nodes = min(out[i].Nodes, nodes*8/10)
		work += float64(out[i].Nodes) * out[i].Duration
	}
	first, span := out[0].Arrival, out[len(out)-1].Arrival-out[0].Arrival
	if span <= 0 {
		return out
	}
	stretch := work / (load * float64(nodes)) / span
	for i := range out {
		out[i].Arrival = (out[i].Arrival - first) * stretch
	}
	return out
}
