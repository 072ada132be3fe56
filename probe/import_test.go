package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func importText(t *testing.T, format, text string) *topology.NodeReport {
	t.Helper()
	r, err := Import(format, strings.NewReader(text), "n")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParsePerftest(t *testing.T) {
	const table = `                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_3
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             395.40             395.20 		   0.753784
`
	const old = ` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      1000             0.00               57.95  		   0.000927
`
	const latency = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.80           5.17         1.91     	       1.95        	0.07   		2.10    		5.17
`
	const short = ` #bytes        #iterations       t_avg[usec]    tps average
 2             243            4117.47        121.43
`
	const pairs = "{\ntest_info: {\ntest: RDMA_Write_BW_Test,\nDevice: \"rxe0\",\nTX_depth : 128,\n},\nresults: {\nMsgSize: 65536,\nn_iterations: 1856,\nBW_peak: 0.00,\nBW_average: 57.95,\nMsgRate: 0.000927,\n},\n}\n"
	const gbit = "{\n\"test\": \"RDMA_Write_BW_Test\",\n\"MsgSize\": 65536,\n\"BW_average\": 395.20,\n\"MsgRate\": 0.753784,\n}\n"
	for name, tc := range map[string]struct {
		text, device string
		bandwidth    float64
		latency      float64
	}{
		"gigabits": {table, "mlx5_3", 395.2e9 / 8, 0}, "mebibytes": {old, "", 57.95 * (1 << 20), 0}, "latency": {latency, "", 0, 1.91e-6},
		"average": {short, "", 0, 4117.47e-6}, "pairs": {pairs, "rxe0", 57.95 * (1 << 20), 0}, "pairs in gigabits": {gbit, "", 395.2e9 / 8, 0},
	} {
		results, err := ParsePerftest([]byte(tc.text))
		if err != nil || len(results) != 1 {
			t.Errorf("%s: %v, %v", name, results, err)
			continue
		}
		r := results[0]
		if r.Device != tc.device || deref(r.BytesPerSecond, 0) != tc.bandwidth || deref(r.LatencySeconds, 0) != tc.latency {
			t.Errorf("%s: %+v bandwidth %v latency %v", name, r, deref(r.BytesPerSecond, 0), deref(r.LatencySeconds, 0))
		}
	}
	for _, text := range []string{"", "nothing here", "#bytes t_avg[usec]\n2\n", "#bytes BW average[MB/sec]\n2 NaN\n", "{\nMsgSize: x,\n}"} {
		if _, err := ParsePerftest([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

const nvbandwidthSample = `{"nvbandwidth": {"git_version": "v0.8", "testcases": [
 {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["55.40", "55.10"]]},
 {"name": "device_to_host_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["54.00", "53.00"]]},
 {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "bandwidth_matrix": [["N/A", "390.0"], ["380.0", "N/A"]]},
 {"name": "device_to_device_bidirectional_memcpy_write_ce", "status": "Passed", "bandwidth_matrix": [["N/A", "700.0"], ["701.0", "N/A"]]},
 {"name": "device_to_device_latency_sm", "status": "Passed", "bandwidth_matrix": [["N/A", "690.0"], ["691.0", "N/A"]]},
 {"name": "host_to_device_memcpy_sm", "status": "Passed", "bandwidth_matrix": [["50.0", "50.0"]]},
 {"name": "multinode_x", "status": "Waived"}, {"name": "all_to_host_memcpy_ce", "status": "Error", "error": "out of memory"}]}}`

func TestImportNVBandwidth(t *testing.T) {
	r := importText(t, "nvbandwidth", nvbandwidthSample)
	got := map[string]float64{}
	for _, c := range r.Measurements.Copies {
		got[copyKey(c)] = c.BandwidthBytesPerSecond.Value / 1e9
	}
	want := map[string]float64{"copies HOST to GPU0": 55.4, "copies HOST to GPU1": 55.1, "copies GPU0 to HOST": 54, "copies GPU1 to HOST": 53,
		"copies GPU1 to GPU0": 390, "copies GPU0 to GPU1": 380, "copies GPU0 to GPU1 both ways": 700, "copies GPU1 to GPU0 both ways": 701}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	if len(r.Measurements.Latencies) != 2 || len(r.GPUs) != 2 || len(r.Findings) != 1 || r.Findings[0].Subject != "all_to_host_memcpy_ce" {
		t.Errorf("latencies %v, GPUs %v, findings %v", r.Measurements.Latencies, r.GPUs, r.Findings)
	}
}

const ncclTestsSample = `# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  100 on gpu-0001 device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  100 on gpu-0001 device  1 [0000:2a:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1   4082.0  263.04  460.32      0   4080.0  263.17  460.55      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 460.4
`

func TestImportNCCLTests(t *testing.T) {
	r := importText(t, "nccl-tests", ncclTestsSample)
	c := r.Measurements.Collective
	if len(c) != 1 || c[0].SizeBytes != 1<<30 || !close1(c[0].BusBandwidthBytesPerSecond.Value, 460.55e9) || len(r.GPUs) != 2 {
		t.Errorf("%+v, GPUs %+v", c, r.GPUs)
	}
}

func close1(a, b float64) bool { return a > 0.99*b && a < 1.01*b }

func TestImportDCGM(t *testing.T) {
	r := importText(t, "dcgm", `{"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [{"name": "PCIe", "results": [
	 {"gpu_id": "0", "status": "Pass", "info": ["GPU 0 GPU to Host bandwidth:\t\t23.1 GB/s, GPU 0 Host to GPU bandwidth:\t\t24.2 GB/s, GPU 0 GPU to Host latency:\t\t1.30 us"]},
	 {"gpu_id": "1", "status": "Fail", "warnings": [{"warning": "PCIe replay count too high"}]}]}]}]}}`)
	if len(r.Measurements.Copies) != 2 || r.Measurements.Copies[0].BandwidthBytesPerSecond.Value != 23.1e9 || len(r.Measurements.Latencies) != 1 {
		t.Errorf("%+v", r.Measurements)
	}
	if len(r.Findings) != 1 || r.Findings[0].Code != "dcgm-pcie" || r.Findings[0].Subject != "GPU1" || !strings.Contains(r.Findings[0].Message, "replay") {
		t.Errorf("%+v", r.Findings)
	}
}

func TestImportSMITopo(t *testing.T) {
	r := importText(t, "smi-topo", "\t\x1b[4mGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\x1b[0m\nGPU0\t X \tNV4\tPIX\t0-7\t0\nGPU1\tNV4\t X \tSOC\t8-15\t1\nmlx5_0\tPIX\tSOC\t X \n")
	want := []topology.Path{{A: "GPU0", B: "GPU1", Type: "NV4"}, {A: "GPU0", B: "mlx5_0", Type: "PIX"}, {A: "GPU1", B: "mlx5_0", Type: "SYS"}}
	if diff := cmp.Diff(want, r.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if *r.GPUs[1].NUMANode != 1 || len(r.NICs) != 1 || r.Findings != nil {
		t.Errorf("%+v", r)
	}
}

const hwlocSample = `<topology version="3.0"><object type="Machine" cpuset="0x3" nodeset="0x3"><object type="Package" nodeset="0x1">
<object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" local_memory="1024"/><object type="Core"><object type="PU" os_index="0"/></object>
<object type="Bridge" bridge_type="0-1" bridge_pci="0000:[10-13]"><object type="Bridge" pci_busid="0000:10:01.0" pci_type="0604 [8086:1111] [0000:0000] 00 00" bridge_pci="0000:[11-13]">
<object type="PCIDev" gp_index="7" pci_busid="0000:11:00.0" pci_type="0302 [10de:2330] [10de:1111] a1 00"><object type="OSDev" gp_index="8" name="nvml0"><info name="GPUModel" value="NVIDIA X"/></object></object>
<object type="PCIDev" gp_index="9" pci_busid="0000:12:00.0" pci_type="0207 [15b3:1021] [15b3:1111] 00 00"><object type="OSDev" name="mlx5_0"><info name="NodeGUID" value="e09d:7303:0015:6ff6"/></object></object>
</object></object></object><object type="Package" nodeset="0x2"><object type="NUMANode" os_index="1" cpuset="0xf0000000,0x2" nodeset="0x2"/></object></object></topology>`

func TestImportHwloc(t *testing.T) {
	r := importText(t, "hwloc", hwlocSample)
	if len(r.PCI) != 3 || r.PCI[1].Parent != "0000:10:01.0" || r.PCI[1].RootComplex != "pci0000:10" || *r.PCI[1].NUMANode != 0 {
		t.Errorf("pci: %+v", r.PCI)
	}
	if len(r.NUMANodes) != 2 || r.NUMANodes[1].CPUs != "1,60-63" || r.CPU.Sockets != 2 {
		t.Errorf("numa: %+v, cpu %+v", r.NUMANodes, r.CPU)
	}
	if diff := cmp.Diff([]topology.Path{{A: "GPU0", B: "mlx5_0", Type: "PIX"}}, r.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestImportRecorded reads every machine description of the corpus: a report, and for matrices all letters of the file.
func TestImportRecorded(t *testing.T) {
	for _, tc := range []struct{ format, pattern string }{{"smi-topo", "topo/smi/*.txt"}, {"hwloc", "topo/hwloc/*.xml"}, {"nccl-xml", "nccl/xml/*.xml"}, {"perftest", "fabric/rdma/perftest-*"}} {
		files, _ := filepath.Glob(filepath.Join(corpus, tc.pattern))
		if len(files) == 0 {
			t.Skip("corpus not here")
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Import(tc.format, bytes.NewReader(data), "n")
				failed := strings.Contains(file, "failed-no-pci") || strings.Contains(file, "graph.xml") // no machines
				if failed {
					if err == nil {
						t.Error("no error for a file that describes no machine")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if tc.format == "smi-topo" {
					checkLetters(t, string(data), r)
				}
				if strings.Contains(file, "DGX2") && (len(r.GPUs) != 16 || r.Paths[0].Type != "NV6") {
					t.Errorf("%d GPUs, first path %v", len(r.GPUs), r.Paths[0])
				}
			})
		}
	}
}

// checkLetters counts the letters of each kind in the upper half of the file's matrix against those of the report.
func checkLetters(t *testing.T, text string, r *topology.NodeReport) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, p := range r.Paths {
		got[p.Type]++
	}
	row := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !smiDevice.MatchString(f[0]) || !smiLetter.MatchString(f[1]) {
			continue
		}
		for i, letter := range f[1:] {
			if i > row && smiLetter.MatchString(letter) {
				want[letter]++
			}
		}
		row++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("letters (-want +got):\n%s", diff)
	}
}

func TestImportRefuses(t *testing.T) {
	for _, tc := range []struct{ format, text, want string }{
		{"nvbandwidth", "{", "nvbandwidth"}, {"nvbandwidth", "{}", "no testcases"}, {"dcgm", "{}", "test_categories"}, {"smi-topo", "hello", "no matrix"},
		{"hwloc", "<topology/>", "no objects"}, {"lspci", "hello", "no PCI function"}, {"nvlink", "Link 0: 25 GB/s", "no GPU"}, {"nccl-xml", "<x/>", "line 1"}, {"perftest", "x", "no result"}, {"floppy", "x", "must be one of"}, {"dcgm", "", "empty"},
		{"nvbandwidth", `{"nvbandwidth":{"testcases":[{"name":"host_to_device_memcpy_ce","status":"Passed","bandwidth_matrix":[["NaN"]]}]}}`, "must be a number"},
	} {
		if _, err := Import(tc.format, strings.NewReader(tc.text), "n"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s of %q: error %v, want %q", tc.format, tc.text, err, tc.want)
		}
	}
}

func FuzzImport(f *testing.F) {
	for i, text := range []string{nvbandwidthSample, ncclTestsSample, "{\nMsgSize: 2,\nt_avg: 3,\n}", `{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"a","results":[{"status":"Fail"}]}]}]}}`,
		"GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n", "<system version=\"1\"><cpu numaid=\"0\"/></system>", hwlocSample, lspciSample, nvlinkSample} {
		f.Add(i, []byte(text))
	}
	f.Fuzz(func(t *testing.T, format int, data []byte) {
		formats := ImportFormats()
		r, err := Import(formats[uint(format)%uint(len(formats))], bytes.NewReader(data), "n")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := topology.Write(&b, r, topology.JSON); err != nil {
			t.Fatalf("an accepted import cannot be written: %v", err)
		}
	})
}
