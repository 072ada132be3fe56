package nccl

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// TestCalibration: a job predicted with entries made from its own measured times comes out as measured.
func TestCalibration(t *testing.T) {
	j := jobOn(t, twoLevels(4, 4, 4), nodeNames(0, 1, 2, 3)...)
	j.SizeBytes = 1 << 20
	plain := predict(t, j)
	if plain.Correction.Used != "none" || plain.Correction.ExpectedErrorRatio == nil || *plain.Correction.ExpectedErrorRatio != .84 {
		t.Errorf("plain correction %+v", plain.Correction)
	}
	var samples []Sample
	for _, factor := range []float64{1.9, 2, 2.2} {
		samples = append(samples, Sample{SKU: "H100", Collective: AllReduce, Nodes: 4, SizeBytes: 1 << 20,
			MeasuredSeconds: plain.TimeSeconds * factor, PredictedSeconds: plain.TimeSeconds, Source: "run1"})
	}
	samples = append(samples, Sample{SKU: "H100", MeasuredSeconds: math.NaN(), PredictedSeconds: 1})
	entries := Calibrate(samples)
	want := []CalibrationEntry{{SKU: "H100", Collective: AllReduce, Nodes: "several", SizeClass: "1MiB", TimeFactor: 2, ErrorRatio: .0526, Samples: 3, Source: "run1"}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	j.Calibration = &Calibration{Entries: entries}
	p := predict(t, j)
	if math.Abs(p.TimeSeconds-2*plain.TimeSeconds) > 1e-12 || math.Abs(p.BusBandwidthBytesPerSecond*2-plain.BusBandwidthBytesPerSecond) > 1 {
		t.Errorf("corrected %g s, plain %g s", p.TimeSeconds, plain.TimeSeconds)
	}
	if p.Correction.Used != "H100, several nodes, 3 samples" || *p.Correction.ExpectedErrorRatio != .0526 {
		t.Errorf("correction %+v", p.Correction)
	}
	j.SizeBytes = 8 << 30
	if p := predict(t, j); p.Correction.Used != "none" {
		t.Errorf("another size class: %+v", p.Correction)
	}
}

func TestCalibrationDocument(t *testing.T) {
	c := &Calibration{Header: topology.Header{APIVersion: topology.APIVersion, Kind: KindCalibration}}
	c.Merge([]CalibrationEntry{{SKU: "H100", Nodes: "one", SizeClass: "1MiB", TimeFactor: 2, Samples: 1}})
	c.Merge([]CalibrationEntry{{SKU: "H100", Nodes: "one", SizeClass: "1MiB", TimeFactor: 1.5, Samples: 4}, {SKU: "B200", Nodes: "several", SizeClass: "larger", TimeFactor: 1, Samples: 1}})
	var b bytes.Buffer
	if err := topology.Write(&b, c, topology.YAML); err != nil {
		t.Fatal(err)
	}
	got := new(Calibration)
	if err := topology.Read(&b, "calibration.yaml", got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if len(got.Entries) != 2 || got.Entries[0].TimeFactor != 1.5 {
		t.Errorf("merged entries %+v", got.Entries)
	}
	bad := &Calibration{Entries: []CalibrationEntry{{Nodes: "two", SizeClass: "big", TimeFactor: 0, ErrorRatio: -1, Collective: "gossip"}}}
	err := bad.Validate()
	for _, want := range []string{"entries[0].sku", "entries[0].nodes", "entries[0].sizeClass", "entries[0].timeFactor", "entries[0].errorRatio", "entries[0].collective"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, must name %s", err, want)
		}
	}
}
