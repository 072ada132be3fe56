package probe

import (
	"fmt"
	"path"
	"strings"
)

// LeaseFile marks a node that holds a lease; an agent writes it and removes it.
const LeaseFile = "run/railmap/lease"

// occupied says why a node must not be loaded: a job of a scheduler runs on it, or it holds a lease. Force overrides.
func occupied(o Options) string {
	if o.Force || !o.needGPU() && !o.has(StageNIC) {
		return ""
	}
	return Busy(o.Root, "")
}

// Busy says why the node whose tree is at root must not be loaded, "" when nothing speaks against it. Steps of the Slurm job
// ownJob do not count: the measurement itself may run in one.
func Busy(root, ownJob string) string {
	t, err := openTree(root)
	if err != nil {
		return ""
	}
	defer t.close()
	if t.exists(LeaseFile) {
		return fmt.Sprintf("the node holds a lease (/%s); --force measures all the same", LeaseFile)
	}
	for _, pid := range t.list("proc") {
		if !numbered(pid, "") {
			continue
		}
		// slurmstepd is there for each step of a Slurm job.
		if t.text(path.Join("proc", pid, "comm")) == "slurmstepd" && !stepOf(t, pid, ownJob) {
			return fmt.Sprintf("a Slurm job runs on the node (process %s); --force measures all the same", pid)
		}
	}
	return ""
}

// stepOf tells whether a slurmstepd serves the job: it calls itself "slurmstepd: [1234.0]".
func stepOf(t *tree, pid, job string) bool {
	return job != "" && strings.Contains(t.text(path.Join("proc", pid, "cmdline")), "["+job+".")
}
