package nccl

import (
	"math"
	"strings"
	"testing"
)

// TestAdvise: the job is better without a NIC at half speed, whether that is seen in the XML or in the map, and better in the
// order of the tree.
func TestAdvise(t *testing.T) {
	top := withNICs(twoLevels(4, 4, 4))
	half := .5
	top.Nodes[1].NICs[3].NominalBandwidthBytesPerSecond, top.Nodes[1].Share, top.Nodes[1].Limiting = 25e9, &half, "mlx5_3"
	j, err := cluster(t, top).Job(nodeNames(0, 1, 2, 3), 0)
	if err != nil {
		t.Fatal(err)
	}
	j.Collective, j.SizeBytes = AllGather, 8<<30
	advise := func(want string, gb float64) {
		t.Helper()
		a, err := Advise(j, predict(t, j))
		if err != nil || len(a) != 1 || !strings.Contains(a[0].Message, want) || math.Abs(a[0].BusBandwidthBytesPerSecond/1e9-gb) > .01*gb {
			t.Errorf("advice %+v, %v; want %q and %g GB/s", a, err, want, gb)
		}
	}
	if p := predict(t, j); p.Tuple != "8 24 24 1 7 2 8 24 24 1 4 0 7 40 48 1 4 0" || p.Binding.Subject != "n1" || p.Binding.Device != "mlx5_3" {
		t.Errorf("graphs %q, bound by %+v; want NCCL's own minimum, and node n1 with mlx5_3", p.Tuple, p.Binding)
	}
	advise("leave out the slow NIC", 335)

	j, err = cluster(t, withNICs(twoLevels(8, 4, 1))).Job(nodeNames(0, 4, 1, 5, 2, 6, 3, 7), 0)
	if err != nil {
		t.Fatal(err)
	}
	j.Collective, j.SizeBytes = AllGather, 8<<30
	advise("in the order of the tree", 382)

	x, err := Fill(corpusXML(t, "azure-ndv5-8xH100-topo.xml"), FillOptions{SM: 90, NVLinks: 18, SpeedMbps: 400000})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := WithFault(x, NICHalfSpeed, faultDevice)
	if err != nil {
		t.Fatal(err)
	}
	var m Models
	good, err := m.Get("good", x)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := m.Get("bad", slow)
	if err != nil {
		t.Fatal(err)
	}
	j = &Job{Collective: AllGather, SizeBytes: 8 << 30, Nodes: []JobNode{{"a", good, NoPlace}, {"b", bad, NoPlace}}}
	advise("leave out the slow NIC", 334.7)
}
