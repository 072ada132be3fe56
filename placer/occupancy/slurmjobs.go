package occupancy

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/railmap/railmap/topology"
)

// slurmJob is what we read of a job of "squeue --json".
type slurmJob struct {
	ID           number   `json:"job_id"`
	Name         text     `json:"name"`
	State        words    `json:"job_state"`
	Nodes        text     `json:"nodes"`
	Comment      text     `json:"comment"`
	AdminComment text     `json:"admin_comment"`
	Start        number   `json:"start_time"`
	End          number   `json:"end_time"`
	Limit        number   `json:"time_limit"` // minutes
	GresDetail   []string `json:"gres_detail"`
	TresPerNode  text     `json:"tres_per_node"`
}

func (v *view) slurmJobs(d *document) error {
	d.jobs = true
	return d.list("jobs", '[', func(at string) error {
		var j slurmJob
		if err := d.dec.Decode(&j); err != nil {
			return err
		}
		return v.slurmJob(at, &j)
	})
}

// slurmJob takes a job that holds nodes. Waiting, held and array jobs that have not started hold none.
func (v *view) slurmJob(at string, j *slurmJob) error {
	id, ok := j.ID.id()
	if !ok {
		return fmt.Errorf("%s: job_id must be a number", at)
	}
	name := strconv.FormatInt(id, 10)
	if !v.holdsNodes("job "+name, j) {
		return nil
	}
	nodes, err := topology.ParseHostlist(string(j.Nodes))
	if err != nil {
		v.odd.add("occupancy-job-nodes", topology.Warning, "job "+name, "the node list of a job is not understood, so the job is left out: "+clip(err.Error(), 160), "")
		return nil
	}
	if len(nodes) == 0 {
		v.odd.add("occupancy-job-nodes", topology.Warning, "job "+name, "a running job has no nodes, so it is left out", "")
		return nil
	}
	out := topology.JobOccupancy{
		ID: name, Name: clip(string(j.Name), 200), Nodes: nodes, GPUsPerNode: v.slurmGPUs("job "+name, j),
		StartedAt: j.Start.time(), Lease: cmp.Or(leaseOf(string(j.Comment)), leaseOf(string(j.AdminComment))),
	}
	if j.Limit.set {
		// Without a limit Slurm still writes an end, a year after the start.
		out.EndsAt = j.End.time()
	}
	return v.addJob(at, out)
}

// holdsNodes reads the words of a job's state (squeue(1), "JOB STATE CODES").
func (v *view) holdsNodes(job string, j *slurmJob) bool {
	holds := false
	for _, w := range j.State {
		switch w {
		case "running", "suspended", "completing", "configuring", "resizing", "stage_out", "stopped", "signaling", "reconfig_fail":
			holds = true
		case "pending", "completed", "cancelled", "failed", "timeout", "node_fail", "preempted", "boot_fail", "deadline", "out_of_memory",
			"revoked", "requeued", "requeue_fed", "requeue_hold", "special_exit", "resv_del_hold", "launch_failed", "reconfig", "power_up_node",
			"expediting", "update_db":
		default:
			v.odd.add("occupancy-state-unknown", topology.Warning, job, fmt.Sprintf("state %q of a job is not known: it counts as running when it has nodes", clip(w, 40)),
				"report it with the version of Slurm")
			holds = holds || j.Nodes != ""
		}
	}
	// A pending job whose nodes are being configured carries both words; one that is only planned has no nodes.
	return holds
}

// slurmGPUs is the number of GPUs that the job has on each of its nodes, 0 when it is unknown or differs.
func (v *view) slurmGPUs(job string, j *slurmJob) int {
	list := j.GresDetail
	if len(list) == 0 && j.TresPerNode != "" {
		list = []string{string(j.TresPerNode)}
	}
	each := 0
	for i, s := range list {
		g, err := parseGres(s)
		if err != nil {
			v.odd.add("occupancy-gres-unknown", topology.Warning, job, "gres of a job is not understood: "+clip(err.Error(), 120), "compare with gres.conf(5)")
			return 0
		}
		if i > 0 && g.count != each || g.shards > 0 {
			return 0
		}
		each = g.count
	}
	return each
}
