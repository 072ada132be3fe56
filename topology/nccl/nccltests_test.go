package nccl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Outputs below are written by hand in the form of nccl-tests 2.17 (src/util.cu), 2.13 and its -J file.
const testsText = `# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8388608 step: 8(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1001 on   gpu-01 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1002 on   gpu-01 device  1 [0000:14:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   1001 on   gpu-02 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    52.43   20.00   26.67       0    50.00   20.97   27.96       0
     8388608       2097152     float     sum      -1   100.00   83.89  111.85     N/A     N/A     N/A     N/A     N/A
gpu-01: some message of the launcher with 8 or more words in it
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 55.4933
`

const testsOld = `#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
[1,0]<stdout>:     1048576        262144     float     sum    52.43   20.00   26.67  0e+00    50.00   20.97   27.96  0e+00
`

const testsJ = `{"version":2,"args":["./build/all_gather_perf","-b","1M"],"env":["SECRET=x"],"nccl_version":22703,
"devices":[{"rank":0,"hostname":"gpu-01","device_info":"NVIDIA H200"}],
"results":[{"size":1048576,"count":1,"type":"float","out_of_place":{"time":52.430000,"alg_bw":20.0,"bus_bw":26.670000,"nwrong":0.0},"in_place":{"time":"nan","bus_bw":"nan","nwrong":null}}]}`

func TestReadTests(t *testing.T) {
	slow, quick := &TestFigure{52.43e-6, 26.67e9}, &TestFigure{50e-6, 27.96e9}
	for _, tc := range []struct {
		name, in string
		want     TestRun
	}{
		{"text", testsText, TestRun{Collective: AllReduce, NCCLVersion: "2.28.7", Ranks: 3, Hosts: []string{"gpu-01", "gpu-02"}, GPUModel: "NVIDIA H100 80GB HBM3",
			Rows: []TestRow{{1048576, slow, quick}, {8388608, &TestFigure{100e-6, 111.85e9}, nil}}}},
		{"old text under mpirun", testsOld, TestRun{Rows: []TestRow{{1048576, slow, quick}}}},
		{"JSON", testsJ, TestRun{Collective: AllGather, NCCLVersion: "2.27.3", Ranks: 1, Hosts: []string{"gpu-01"}, GPUModel: "NVIDIA H200",
			Rows: []TestRow{{1048576, slow, nil}}}},
	} {
		got, err := ReadTests(strings.NewReader(tc.in))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		round := cmp.Comparer(func(a, b float64) bool { return a == b || a-b < 1e-12*a && b-a < 1e-12*a })
		if diff := cmp.Diff(&tc.want, got, round); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if b := (TestRow{OutOfPlace: slow, InPlace: quick}).Better(); b != quick {
		t.Errorf("Better is %v", b)
	}
}

func TestReadTestsErrors(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "no row of figures"},
		{"no rows", "# nothing\n", "no row of figures"},
		{"bad time", strings.Replace(testsText, "52.43", "-1.00", 1), `line 13: time "-1.00": must be microseconds`},
		{"bad busbw", strings.Replace(testsText, "26.67", "1e999", 1), `line 13: busbw "1e999": must be GB/s`},
		{"odd columns", "1 2 3 4 5 6 7 8 9 10\n", "line 1: row of figures: must have the columns"},
		{"broken JSON", "{\n\"results\": [\n", "line 3: unexpected end of JSON input"},
		{"long line", strings.Repeat("x", maxTestLine+1), "lines must be shorter"},
	} {
		_, err := ReadTests(strings.NewReader(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzReadTests(f *testing.F) {
	f.Add(testsText)
	f.Add(testsOld)
	f.Add(testsJ)
	f.Fuzz(func(t *testing.T, in string) {
		run, err := ReadTests(strings.NewReader(in))
		if err == nil && len(run.Rows) == 0 {
			t.Error("no error and no rows")
		}
	})
}
