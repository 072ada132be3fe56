package occupancy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/railmap/railmap/topology"
)

// slurmNode is what we read of a node of "scontrol show nodes --json" and of "sinfo --json" of 22.05.
type slurmNode struct {
	Name        string `json:"name"`
	State       words  `json:"state"`       // 22.05: only the base state
	Flags       words  `json:"state_flags"` // 22.05
	Gres        string `json:"gres"`
	GresUsed    string `json:"gres_used"`
	Reason      string `json:"reason"`
	Reservation string `json:"reservation"` // the one that holds the node now
}

func (v *view) slurmNodes(d *document) error {
	d.nodes = true
	return d.list("nodes", '[', func(at string) error {
		var n slurmNode
		if err := d.dec.Decode(&n); err != nil {
			return err
		}
		return v.addNode(at, v.slurmNode(&n))
	})
}

// slurmNode judges one node.
func (v *view) slurmNode(n *slurmNode) topology.NodeOccupancy {
	st := v.slurmState(n)
	have, err := parseGres(n.Gres)
	if err != nil {
		v.odd.add("occupancy-gres-unknown", topology.Warning, n.Name, "gres of a node is not understood: "+clip(err.Error(), 120), "compare with gres.conf(5)")
	}
	used, err := parseGres(n.GresUsed)
	if err != nil {
		v.odd.add("occupancy-gres-unknown", topology.Warning, n.Name, "gres_used of a node is not understood, so the node counts as wholly used: "+
			clip(err.Error(), 120), "compare with gres.conf(5)")
		st.whole = true
	}
	out := topology.NodeOccupancy{Name: n.Name, GPUCount: have.count, Reason: st.reason}
	if used.shards > 0 {
		v.odd.add("occupancy-shards", topology.Info, n.Name, "jobs share GPUs (gres/shard): the node counts as wholly used", "")
		st.whole = true
	}
	// A node whose processors are all taken starts no more jobs, whatever GPUs are left; one that runs jobs without any GPU
	// cannot be given as a whole.
	st.whole = st.whole || st.allocated && used.count < have.count || st.busy && used.count == 0
	if used.count > 0 && !st.whole {
		out.GPUsUsed = used.indices
		if used.indices == nil {
			out.GPUsUsedCount = used.count
		}
	}
	busy := st.busy || st.whole || used.count > 0
	switch {
	case st.down:
		out.Use = topology.UseDown
	case st.drained:
		out.Use = topology.UseDrained
	case st.reserved:
		out.Use = topology.UseReserved
	case busy:
		out.Use = topology.UseBusy
	default:
		out.Use = topology.UseFree
	}
	return out
}

// slurmState is what the words of a node's state mean together.
type slurmState struct {
	down, drained, reserved bool
	busy                    bool // it runs jobs
	allocated               bool // all its processors are taken
	whole                   bool // the use cannot be counted
	reason                  string
}

// slurmState reads the words of a state (scontrol(1), "NODE STATE CODES"). A word that is not known closes the node.
func (v *view) slurmState(n *slurmNode) slurmState {
	var st slurmState
	var why []string
	for _, list := range []words{n.State, n.Flags} {
		for _, w := range list {
			if st.word(w) {
				why = append(why, w)
			} else if !st.calm(w) {
				v.odd.add("occupancy-state-unknown", topology.Warning, n.Name, fmt.Sprintf("state %q of a node is not known: the node counts as drained", clip(w, 40)),
					"report it with the version of Slurm")
				st.drained, why = true, append(why, clip(w, 40))
			}
		}
	}
	if len(n.State) == 0 {
		v.odd.add("occupancy-state-unknown", topology.Warning, n.Name, "a node has no state: it counts as drained", "")
		st.drained = true
	}
	if r := n.Reservation; r != "" && r != "N/A" {
		st.reserved, why = true, append(why, "reservation "+clip(r, 60))
	}
	if st.down || st.drained || st.reserved {
		if st.reason = clip(n.Reason, 200); st.reason == "" {
			st.reason = strings.Join(why, ", ")
		}
	}
	return st
}

// word takes one word; it is false for words that close nothing.
func (st *slurmState) word(w string) bool {
	switch w {
	case "down", "error", "future", "unknown", "invalid", "invalid_reg", "not_responding", "dynamic_future":
		st.down = true
	case "drain", "drained", "draining", "fail", "reboot_requested", "reboot_issued", "power_drain", "power_down", "powering_down", "blocked":
		st.drained = true
	case "reserved", "res", "maintenance", "maint", "planned":
		// The backfill scheduler has promised planned nodes to a waiting job.
		st.reserved = true
	default:
		return false
	}
	return true
}

// calm takes the words that say that a node is used or usable.
func (st *slurmState) calm(w string) bool {
	switch w {
	case "allocated":
		st.busy, st.allocated = true, true
	case "mixed":
		st.busy = true
	case "completing":
		st.busy, st.whole = true, true // its epilog still runs
	case "idle", "cloud", "powered_down", "powering_up", "power_up", "resume", "undrain", "dynamic_norm", "external", "reboot_canceled",
		"perfctrs", "net", "none":
		// Slurm powers nodes up for a job by itself.
	default:
		return false
	}
	return true
}

// slurmGrouped refuses the rows of sinfo of 23.02 and newer.
func (v *view) slurmGrouped(*document) error {
	return errors.New("sinfo: its rows group nodes and do not tell which GPUs are used: must be the output of scontrol show nodes --json")
}

// slurmMeta keeps the version.
func (v *view) slurmMeta(d *document) error {
	var m struct {
		Slurm struct {
			Release text `json:"release"`
		} `json:"slurm"`
	}
	if err := d.dec.Decode(&m); err != nil {
		return err
	}
	if m.Slurm.Release != "" {
		v.source = "slurm " + clip(string(m.Slurm.Release), 40)
	}
	return nil
}

// slurmTime skips the time of the controller's last change: it is not the time of the answer, which Slurm does not tell.
func (v *view) slurmTime(d *document) error { return d.dec.Decode(new(number)) }

// slurmErrors refuses an answer with errors: its lists are empty or not whole.
func (v *view) slurmErrors(d *document) error {
	list, err := messages(d)
	if err != nil || len(list) == 0 {
		return err
	}
	return fmt.Errorf("errors: Slurm says %q: must be an answer without errors", clip(list[0], 200))
}

func (v *view) slurmWarnings(d *document) error {
	list, err := messages(d)
	for _, s := range list {
		v.odd.add("occupancy-warning", topology.Info, v.side, "Slurm warns: "+clip(s, 200), "")
	}
	return err
}

// messages reads the list of errors or warnings: objects with one of a few fields.
func messages(d *document) ([]string, error) {
	var out []string
	err := d.list("errors", '[', func(string) error {
		var m struct {
			Description text `json:"description"`
			Error       text `json:"error"`
			Source      text `json:"source"`
		}
		if err := d.dec.Decode(&m); err != nil {
			return err
		}
		if len(out) < maxSubjects {
			out = append(out, strings.TrimSpace(string(m.Description+" "+m.Error+" "+m.Source)))
		}
		return nil
	})
	return out, err
}
