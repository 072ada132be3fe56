package probe

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

const (
	// lldpFile holds what lldpcli -f json0 show neighbors printed on a recorded node.
	lldpFile = "lldp.json"
	// lldpTime is how long lldpd may take to answer.
	lldpTime = 3 * time.Second
)

// readLLDP writes the switch and its port into each network device that hears one. A node without lldpd, or whose lldpd may
// not be asked, has none; an answer that cannot be read is a finding.
func readLLDP(ctx context.Context, t *tree, o Options, devices []topology.NetDevice) []topology.Finding {
	neighbors, err := askLLDP(ctx, t, o)
	if err != nil {
		return []topology.Finding{{Code: "lldp-unreadable", Severity: topology.Info, Subject: "lldp", Message: err.Error(), Remedy: "check lldpcli -f json0 show neighbors on the node"}}
	}
	for i := range devices {
		for _, n := range neighbors {
			if d := &devices[i]; n.Interface == d.Name && d.LLDPSwitch == "" {
				d.LLDPSwitch, d.LLDPPort = n.System, n.Port
			}
		}
	}
	return nil
}

func askLLDP(ctx context.Context, t *tree, o Options) ([]fabric.Neighbor, error) {
	if !o.live() {
		f, err := t.root.Open(lldpFile)
		if err != nil {
			return nil, nil // not recorded
		}
		defer f.Close()
		return fabric.ParseLLDP(io.Reader(f), lldpFile)
	}
	if toolPath("lldpcli") == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lldpTime)
	defer cancel()
	out, err := runTool(ctx, nil, "lldpcli", "-f", "json0", "show", "neighbors")
	if err != nil {
		return nil, nil // lldpd does not run, or only root may ask it
	}
	return fabric.ParseLLDP(bytes.NewReader(out), "lldpcli")
}
