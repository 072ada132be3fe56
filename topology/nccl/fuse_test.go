package nccl

import (
	"strings"
	"testing"
)

// tray is one host of a rack-scale machine: 4 GPUs, a NIC of 400 Gb/s for each.
func tray() rig {
	r := hgx(100)
	r.switches = 2
	return r
}

func TestFuse(t *testing.T) {
	for _, tt := range []struct {
		hosts          int
		alone, several string
	}{
		{1, "16 45 45 1 4 0 16 50 50 1 4 0 4 90 90 1 4 0", "8 24 24 1 7 0 8 48 24 1 4 0 4 48 48 1 4 0"},
		{2, "16 45 45 1 4 0 16 45 45 1 4 0 8 80 90 1 4 0", "8 48 48 1 7 0 8 96 48 1 4 0 8 48 48 1 4 0"},
		{18, "16 45 45 1 4 0 16 45 45 1 4 0 32 20 40 1 4 0", "16 45.1 45.1 1 7 0 16 45.1 45.1 1 4 0 32 20 40 1 4 0"},
	} {
		hosts := make([]*XML, tt.hosts)
		for i := range hosts {
			hosts[i] = tray().xml()
		}
		x, err := Fuse(hosts...)
		if err != nil {
			t.Fatal(err)
		}
		s := mustSystem(t, x, Options{})
		if s.GPUs() != 4*tt.hosts || s.Nets() != 4*tt.hosts {
			t.Fatalf("%d hosts: %d GPUs, %d NICs", tt.hosts, s.GPUs(), s.Nets())
		}
		for nodes, want := range map[int]string{1: tt.alone, 2: tt.several} {
			f, err := s.Search(nodes)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Tuple(); got != want {
				t.Errorf("%d hosts in a domain, %d domains: %s, want %s", tt.hosts, nodes, got, want)
			}
		}
	}
}

// TestFusedModel holds what a job sees: a domain of two hosts is one node of twice the GPUs.
func TestFusedModel(t *testing.T) {
	m, err := NewNodeModel("tray", tray().xml(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	two := m.Fused(2)
	if two.GPUs != 8 || two.Fused != nil || two != m.Fused(2) {
		t.Errorf("domain of two: %d GPUs, made once: %v", two.GPUs, two == m.Fused(2))
	}
	if huge := m.Fused(1 << 20); huge.GPUs != maxDomainGPUs {
		t.Errorf("domain beyond the limits has %d GPUs, want %d", huge.GPUs, maxDomainGPUs)
	}
}

func TestFuseErrors(t *testing.T) {
	if _, err := Fuse(); err == nil {
		t.Error("no host: no error")
	}
	two := mustRead(t, `<system version="1"><cpu numaid="0" host_hash="0x1"/><cpu numaid="1" host_hash="0x2"/></system>`)
	if _, err := Fuse(two); err == nil || !strings.Contains(err.Error(), "must be one host") {
		t.Errorf("two hosts in one document: %v", err)
	}
	if _, err := Fuse(NewXML()); err == nil || !strings.Contains(err.Error(), "no gpu element") {
		t.Errorf("no GPU: %v", err)
	}
}
