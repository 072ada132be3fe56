package probe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// A recorded answer of lldpcli fills in switch and port; one that cannot be read is a finding, none is neither.
func TestReadLLDP(t *testing.T) {
	const heard = `{"lldp":[{"interface":[{"name":"eth1","chassis":[{"name":[{"value":"leaf7"}]}],"port":[{"id":[{"type":"ifname","value":"swp3"}]}]}]}]}`
	for _, tt := range []struct {
		name, file string
		want       topology.NetDevice
		findings   int
	}{
		{"heard", heard, topology.NetDevice{Name: "eth1", LLDPSwitch: "leaf7", LLDPPort: "swp3"}, 0},
		{"broken", "{", topology.NetDevice{Name: "eth1"}, 1},
		{"none", "", topology.NetDevice{Name: "eth1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.file != "" {
				if err := os.WriteFile(filepath.Join(dir, lldpFile), []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := openTree(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.close()
			devices := []topology.NetDevice{{Name: "eth0"}, {Name: "eth1"}}
			findings := readLLDP(t.Context(), tree, Options{Root: dir}, devices)
			if d := cmp.Diff([]topology.NetDevice{{Name: "eth0"}, tt.want}, devices); d != "" || len(findings) != tt.findings {
				t.Errorf("%d findings; devices (-want +got):\n%s", len(findings), d)
			}
		})
	}
}
