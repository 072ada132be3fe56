package occupancy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// pbsJob is what we read of a job of "qstat -f -t -F json".
type pbsJob struct {
	Name      text            `json:"Job_Name"`
	State     text            `json:"job_state"`
	ExecVnode text            `json:"exec_vnode"`
	Wanted    map[string]text `json:"Resource_List"`
	Used      map[string]text `json:"resources_used"`
	Account   text            `json:"Account_Name"`
	Variables json.RawMessage `json:"Variable_List"`
}

func (v *view) pbsJobs(d *document) error {
	d.jobs = true
	return d.list("Jobs", '{', func(id string) error {
		var j pbsJob
		if err := d.dec.Decode(&j); err != nil {
			return err
		}
		return v.pbsJob(id, &j)
	})
}

// pbsJob takes a job that holds nodes. PBS writes start times in local time without a zone, so the end is counted from the
// server's clock: now + limit - used, which is late by the interval at which the hosts report.
func (v *view) pbsJob(id string, j *pbsJob) error {
	if !v.pbsHolds(id, j) {
		return nil
	}
	nodes, gpus, err := parseExecVnode(string(j.ExecVnode))
	if err != nil {
		v.odd.add("occupancy-job-nodes", topology.Warning, "job "+id, "exec_vnode of a job is not understood, so the job is left out: "+clip(err.Error(), 160), "")
		return nil
	}
	out := topology.JobOccupancy{ID: id, Name: clip(string(j.Name), 200), Nodes: nodes, GPUsPerNode: gpus, Lease: j.lease()}
	if place := string(j.Wanted["place"]); strings.Contains(place, "excl") {
		out.GPUsPerNode = 0 // whole nodes
	}
	limit, ok := walltime(string(j.Wanted["walltime"]))
	used, ok2 := walltime(string(j.Used["walltime"]))
	if ok && ok2 {
		v.ends = append(v.ends, pbsEnd{id, max(0, limit-used)})
	}
	return v.addJob("job", out)
}

// pbsEnd is a job's end, from the time of the document, which may stand behind the jobs.
type pbsEnd struct {
	job  string
	left time.Duration
}

// pbsHolds reads the state of a job (qstat(1), job_state).
func (v *view) pbsHolds(id string, j *pbsJob) bool {
	switch j.State {
	case "R", "E":
	case "B":
		v.odd.add("occupancy-array", topology.Info, "job "+id, "job arrays run whose jobs are not gangs here, unless they are listed too", "list them with qstat -f -t -F json")
		return false
	case "Q", "H", "W", "T", "M", "X", "F", "S", "U":
		return false // waiting, moved, finished, suspended: the use of nodes comes from the list of nodes
	default:
		v.odd.add("occupancy-state-unknown", topology.Warning, "job "+id, fmt.Sprintf("state %q of a job is not known: it counts as running when it has nodes", clip(string(j.State), 20)),
			"report it with the version of PBS")
		return j.ExecVnode != ""
	}
	if j.ExecVnode == "" {
		v.odd.add("occupancy-job-nodes", topology.Warning, "job "+id, "a running job has no nodes, so it is left out", "")
	}
	return j.ExecVnode != ""
}

// parseExecVnode reads "(n01:ncpus=8:ngpus=4+n02:ncpus=8)+(n03:ncpus=8)": hosts in rank order, each once, and the GPUs that the
// job has on each, 0 when they are unknown or differ.
func parseExecVnode(s string) (hosts []string, gpus int, err error) {
	if len(s) > topology.MaxHostlistBytes {
		return nil, 0, fmt.Errorf("exec_vnode is %d bytes long: must be at most %d", len(s), topology.MaxHostlistBytes)
	}
	each := map[string]int{}
	for chunk := range strings.SplitSeq(s, "+") {
		vnode, resources, _ := strings.Cut(strings.Trim(chunk, "() "), ":")
		if err := checkName("exec_vnode "+strconv.Quote(clip(chunk, 40)), vnode); err != nil {
			return nil, 0, err
		}
		host := hostOf(vnode)
		if _, seen := each[host]; !seen {
			hosts = append(hosts, host)
		}
		n := 0
		for r := range strings.SplitSeq(resources, ":") {
			if value, ok := strings.CutPrefix(r, "ngpus="); ok {
				if n, err = strconv.Atoi(value); err != nil || n < 0 || n > topology.MaxNodeGPUs {
					return nil, 0, fmt.Errorf("ngpus=%s: must be between 0 and %d", clip(value, 20), topology.MaxNodeGPUs)
				}
			}
		}
		each[host] += n
	}
	gpus = each[hosts[0]]
	if slices.ContainsFunc(hosts, func(h string) bool { return each[h] != gpus }) || gpus > topology.MaxNodeGPUs {
		gpus = 0
	}
	return hosts, gpus, nil
}

// lease is in the account or the environment: the scheduler overwrites the comment.
func (j *pbsJob) lease() string {
	var env map[string]text
	_ = json.Unmarshal(j.Variables, &env) // some versions write one string: then there is none
	if id := string(env["RAILMAP_LEASE"]); validLease(id) {
		return id
	}
	return cmp.Or(leaseOf(string(j.Account)), "")
}

// walltime reads "HH:MM:SS", "MM:SS" or seconds.
func walltime(s string) (time.Duration, bool) {
	total, parts := 0, 0
	for part := range strings.SplitSeq(s, ":") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<31 || parts == 3 {
			return 0, false
		}
		total = total*60 + n
		parts++
	}
	if total > 1<<31 {
		return 0, false
	}
	return time.Duration(total) * time.Second, true
}

// settleEnds counts the ends of jobs from the time of the document.
func (v *view) settleEnds() {
	if v.time == nil {
		return
	}
	left := make(map[string]time.Duration, len(v.ends))
	for _, e := range v.ends {
		left[e.job] = e.left
	}
	for i := range v.jobs {
		if d, ok := left[v.jobs[i].ID]; ok {
			end := v.time.Add(d)
			v.jobs[i].EndsAt = &end
		}
	}
}
