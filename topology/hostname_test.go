package topology

import (
	"regexp"
	"testing"
)

func TestParseDescription(t *testing.T) {
	for _, c := range []struct {
		desc, host, device string
		class              nameClass
	}{
		{"node1 mlx5_0", "node1", "mlx5_0", named},
		{"node1 HCA-1", "node1", "HCA-1", named},
		{"node1.cluster.example mlx5_1", "node1", "mlx5_1", named},
		{"NODE1 mlx5_1", "NODE1", "mlx5_1", named},
		{"node1", "node1", "", named},
		{"node1  mlx5_0", "node1", "mlx5_0", named},
		{"node1 mlx5_0 port1", "node1", "mlx5_0", named},
		{"node1 port1 mlx5_2", "node1", "mlx5_2", named},
		{`"node1" mlx5`, "node1", "mlx5", named},
		{"'node1 mlx5_0'", "node1", "mlx5_0", named},
		{"node1 ibp24s0", "node1", "ibp24s0", named},
		{"node1 mlx5_ib0", "node1", "mlx5_ib0", named},
		{"10.1.2.3 mlx5_0", "10.1.2.3", "mlx5_0", named},
		{"localhost HCA-1", "localhost", "HCA-1", generic},
		{"localhost.localdomain mlx5_0", "localhost", "mlx5_0", generic},
		{"Ubuntu mlx5_0", "Ubuntu", "mlx5_0", generic},
		{"MT4129 ConnectX7   Mellanox Technologies", "", "", unnamed},
		{"mlx5_0", "", "mlx5_0", unnamed},
		{"", "", "", unnamed},
		{"   ", "", "", unnamed},
	} {
		host, device, class := parseDescription(c.desc, nil)
		if host != c.host || device != c.device || class != c.class {
			t.Errorf("parseDescription(%q) = %q, %q, %d; want %q, %q, %d", c.desc, host, device, class, c.host, c.device, c.class)
		}
	}
}

func TestParseDescriptionPattern(t *testing.T) {
	p := regexp.MustCompile(`^rack\d+/(?P<host>\w+):(?P<device>\w+)$`)
	if host, device, class := parseDescription("rack7/gpu12:hca3", p); host != "gpu12" || device != "hca3" || class != named {
		t.Errorf("got %q, %q, %d", host, device, class)
	}
	if host, _, _ := parseDescription("gpu12 mlx5_0", p); host != "gpu12" {
		t.Errorf("a description that the pattern does not match falls back to the usual forms; got %q", host)
	}
}

func TestSwitchNames(t *testing.T) {
	for desc, want := range map[string][2]string{
		"MF0;A09-LEAF-04:MQM9701/U1":           {"A09-LEAF-04", "MQM9701"},
		"leaf7":                                {"leaf7", ""},
		" Rack 7 leaf ":                        {"Rack 7 leaf", ""},
		"SwitchX -  Mellanox Technologies":     {"", ""},
		"Infiniscale-IV Mellanox Technologies": {"", ""},
		"":                                     {"", ""},
		"MF0;noend":                            {"noend", ""},
	} {
		d := &FabricDevice{Description: desc}
		if n, m := switchName(d), switchModel(d); n != want[0] || m != want[1] {
			t.Errorf("%q: name %q model %q, want %q %q", desc, n, m, want[0], want[1])
		}
	}
}

func FuzzParseDescription(f *testing.F) {
	for _, s := range []string{"node1 mlx5_0", `"a" b c`, "\x00", "x.y.z HCA-1", "'", " . "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, _, class := parseDescription(s, nil)
		if class == named && host == "" {
			t.Errorf("parseDescription(%q): named, but the host is empty", s)
		}
	})
}
