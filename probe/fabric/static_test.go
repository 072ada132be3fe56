package fabric

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestStatic(t *testing.T) {
	got := parse(t, `# two racks
apiVersion: railmap.dev/v1
kind: StaticFabric
speed: 400
rails: 2
switches:
- {name: spine1, tier: 1, model: SN5600}
- {name: "leaf[1-2]", tier: 0, uplinks: [{to: spine1, cables: 2, speed: 800}]}
hosts:
- {names: gpu01, leaf: "leaf[1-2]", devices: "mlx5_[0-1]"}
- {names: "gpu[02-03]", leaf: leaf2, rails: 1, speed: 100}
`)
	end := func(d, p int32) topology.FabricEnd { return topology.FabricEnd{Device: d, Port: p} }
	want := &topology.FabricReport{
		Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport, Source: SourceStatic},
		Devices: []topology.FabricDevice{
			{Kind: topology.SwitchDevice, Name: "leaf1", Tier: new(0), PortCount: 3},
			{Kind: topology.SwitchDevice, Name: "leaf2", Tier: new(0), PortCount: 5},
			{Kind: topology.SwitchDevice, Name: "spine1", Tier: new(1), PortCount: 4, Model: "SN5600"},
			{Kind: topology.AdapterDevice, Host: "gpu01", Name: "mlx5_0", Rail: new(0), PortCount: 1},
			{Kind: topology.AdapterDevice, Host: "gpu01", Name: "mlx5_1", Rail: new(1), PortCount: 1},
			{Kind: topology.AdapterDevice, Host: "gpu02", Name: "rail0", Rail: new(0), PortCount: 1},
			{Kind: topology.AdapterDevice, Host: "gpu03", Name: "rail0", Rail: new(0), PortCount: 1},
		},
		Links: []topology.FabricLink{
			{A: end(0, 1), B: end(3, 1), BandwidthBytesPerSecond: 50e9},
			{A: end(0, 2), B: end(2, 1), BandwidthBytesPerSecond: 100e9},
			{A: end(0, 3), B: end(2, 2), BandwidthBytesPerSecond: 100e9},
			{A: end(1, 1), B: end(4, 1), BandwidthBytesPerSecond: 50e9},
			{A: end(1, 2), B: end(5, 1), BandwidthBytesPerSecond: 12.5e9},
			{A: end(1, 3), B: end(6, 1), BandwidthBytesPerSecond: 12.5e9},
			{A: end(1, 4), B: end(2, 3), BandwidthBytesPerSecond: 100e9},
			{A: end(1, 5), B: end(2, 4), BandwidthBytesPerSecond: 100e9},
		},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStaticErrors(t *testing.T) {
	const switches = "switches:\n- {name: \"s[1-2]\", tier: 1}\n- {name: \"l[1-4]\", tier: 0, uplinks: [{to: \"s[1-2]\"}]}\n"
	for _, tt := range []struct{ name, in, want string }{
		{"no hosts", switches, "f.yaml:1: must hold switches and hosts"},
		{"unknown field", switches + "hosts:\n- {names: a, leaf: l1, colour: red}\n", "f.yaml:5: field colour is not known here"},
		{"wrong type", "speed: fast\n" + switches, "f.yaml:1:"},
		{"no yaml", "hosts: [\n", "f.yaml:"},
		{"unknown leaf", switches + "hosts:\n- {names: a, leaf: l9}\n", "f.yaml:5: leaf: switch l9 is not described"},
		{"unknown spine", "switches:\n- name: l1\n  uplinks:\n  - {to: s7}\nhosts:\n- {names: a, leaf: l1}\n", "f.yaml:4: to: switch s7 is not described"},
		{"switch twice", switches + "- {name: s1}\nhosts:\n- {names: a, leaf: l1}\n", "f.yaml:4: switch s1 stands on line 2 already"},
		{"host twice", switches + "hosts:\n- {names: \"a[1-3]\", leaf: l1}\n- {names: a2, leaf: l1}\n", "f.yaml:6: host a2 stands on line 5 already"},
		{"rails and leaves", "rails: 3\n" + switches + "hosts:\n- {names: a, leaf: \"l[1-2]\"}\n", "f.yaml:6: leaf names 2 switches for 3 rails"},
		{"rails and devices", "rails: 3\n" + switches + "hosts:\n- {names: a, leaf: l1, devices: mlx5_0}\n", "f.yaml:6: devices names 1 NICs for 3 rails"},
		{"rails", "rails: 0\n" + switches + "hosts:\n- {names: a, leaf: l1}\n", "f.yaml:1: rails is 0: must be between 1 and 256"},
		{"speed", "speed: -1\n" + switches + "hosts:\n- {names: a, leaf: l1}\n", "f.yaml:1: speed is -1"},
		{"speed not a number", "speed: .nan\n" + switches + "hosts:\n- {names: a, leaf: l1}\n", "f.yaml:1: speed is NaN"},
		{"uplink down", "switches:\n- {name: s1, tier: 1}\n- {name: l1, tier: 0}\n- {name: s2, tier: 1, uplinks: [{to: l1}]}\nhosts:\n- {names: a, leaf: l1}\n", "f.yaml:4: uplink of s2 (tier 1) leads to l1 (tier 0)"},
		{"uplink to itself", "switches:\n- {name: l1, uplinks: [{to: l1}]}\nhosts:\n- {names: a, leaf: l1}\n", "f.yaml:2: uplink of l1 leads to itself"},
		{"bad hostlist", switches + "hosts:\n- {names: \"a[1-\", leaf: l1}\n", "f.yaml:5: names: "},
		{"cables", "switches:\n- {name: s1}\n- {name: l1, uplinks: [{to: s1, cables: 9999}]}\nhosts:\n- {names: a, leaf: l1}\n", "f.yaml:3: cables is 9999"},
		{"too many", "rails: 256\n" + switches + "hosts:\n- {names: \"a[1-9999]\", leaf: l1}\n", "more than 2097152 switches and adapters"},
		{"kind", "kind: Topology\n" + switches + "hosts:\n- {names: a, leaf: l1}\n", "kind is \"Topology\": must be StaticFabric"},
		{"second document", switches + "hosts:\n- {names: a, leaf: l1}\n---\na: b\n", "second document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Static(strings.NewReader(tt.in), "f.yaml")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to contain %q", err, tt.want)
			}
		})
	}
}
