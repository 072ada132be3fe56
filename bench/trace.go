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
	"strings"
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
	var jobs []Job
	err := eachRow(r, []string{"nodes", "arrival_s", "duration_s"}, func(v []float64) { jobs = append(jobs, Job{v[1], int(v[0]), v[2]}) })
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs, err
}

// ReadSizes reads the column nodes of a CSV file of past jobs.
func ReadSizes(path string) ([]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var sizes []int
	if err := eachRow(f, []string{"nodes"}, func(v []float64) { sizes = append(sizes, int(v[0])) }); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sizes, nil
}

// eachRow calls f with the numbers of the columns of every row; the first column is nodes, 1 to a million.
func eachRow(r io.Reader, columns []string, f func([]float64)) error {
	cr := csv.NewReader(r)
	cr.ReuseRecord = true
	head, err := cr.Read()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	at := make([]int, len(columns))
	for i, name := range columns {
		if at[i] = slices.Index(head, name); at[i] < 0 {
			return fmt.Errorf("header: must have the columns %s; %s is missing", strings.Join(columns, ", "), name)
		}
	}
	v := make([]float64, len(columns))
	for rows := 0; ; rows++ {
		rec, err := cr.Read()
		if err == io.EOF && rows > 0 {
			return nil
		}
		if err == io.EOF {
			return fmt.Errorf("holds no job")
		}
		if err != nil {
			return err
		}
		line, _ := cr.FieldPos(0)
		for i, name := range columns {
			if v[i], err = strconv.ParseFloat(rec[at[i]], 64); err != nil || !(v[i] >= 0) || v[i] > 1e12 {
				return fmt.Errorf("line %d: %s is %q: must be a number that is not negative", line, name, rec[at[i]])
			}
		}
		if v[0] < 1 || v[0] > 1e6 || rows >= maxTraceJobs {
			return fmt.Errorf("line %d: nodes must be between 1 and 1e6, and the file at most %d jobs", line, maxTraceJobs)
		}
		f(v)
	}
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
