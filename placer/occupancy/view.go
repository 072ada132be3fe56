package occupancy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// view is what was read of one side so far.
type view struct {
	side     string
	source   string // program and version
	time     *time.Time
	nodes    []topology.NodeOccupancy
	jobs     []topology.JobOccupancy
	pods     []pod    // of Kubernetes
	ends     []pbsEnd // of PBS
	hasNodes bool
	hasJobs  bool
	jobNodes int // nodes of all jobs together
	odd      oddities
}

func (v *view) addNode(what string, n topology.NodeOccupancy) error {
	if err := checkName(what, n.Name); err != nil {
		return err
	}
	if len(v.nodes) == MaxNodes {
		return fmt.Errorf("more than %d nodes: must be fewer", MaxNodes)
	}
	v.nodes = append(v.nodes, n)
	return nil
}

func (v *view) addJob(what string, j topology.JobOccupancy) error {
	if err := checkName(what, j.ID); err != nil {
		return err
	}
	if len(v.jobs) == MaxJobs {
		return fmt.Errorf("more than %d jobs: must be fewer", MaxJobs)
	}
	if v.jobNodes += len(j.Nodes); v.jobNodes > maxJobNodes {
		return fmt.Errorf("the jobs up to here have more than %d nodes: must be fewer", maxJobNodes)
	}
	v.jobs = append(v.jobs, j)
	return nil
}

// finish makes the document: nodes and jobs sorted and unique, halves that are missing named.
func (v *view) finish() (*topology.Occupancy, error) {
	switch v.side {
	case Kubernetes:
		v.settlePods()
	case PBS:
		v.foldVnodes()
		v.settleEnds()
	}
	if !v.hasNodes {
		if v.side != Kubernetes { // pods made theirs
			v.nodesOfJobs()
		}
		v.odd.add("occupancy-no-nodes", topology.Warning, v.side, "the input has jobs only: nodes that are drained, down or idle are not known",
			"add the list of nodes ("+nodeCommand(v.side)+")")
	}
	if !v.hasJobs {
		v.odd.add("occupancy-no-jobs", topology.Warning, v.side, "the input has nodes only: gangs, their traffic and their ends are not known",
			"add the list of jobs ("+jobCommand(v.side)+")")
	}
	slices.SortStableFunc(v.nodes, func(a, b topology.NodeOccupancy) int { return topology.CompareNames(a.Name, b.Name) })
	slices.SortStableFunc(v.jobs, func(a, b topology.JobOccupancy) int { return topology.CompareNames(a.ID, b.ID) })
	for i := 1; i < len(v.nodes); i++ {
		if v.nodes[i].Name == v.nodes[i-1].Name {
			return nil, fmt.Errorf("node %s is listed twice: must be the nodes of one cluster, once", v.nodes[i].Name)
		}
	}
	for i := 1; i < len(v.jobs); i++ {
		if v.jobs[i].ID == v.jobs[i-1].ID {
			return nil, fmt.Errorf("job %s is listed twice: must be the jobs of one cluster, once", v.jobs[i].ID)
		}
	}
	v.checkJobNodes()
	o := &topology.Occupancy{
		Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindOccupancy, Source: cmp.Or(v.source, v.side), Time: v.time},
		Side:   v.side, Nodes: v.nodes, Jobs: v.jobs, Findings: v.odd.findings(),
	}
	if o.Nodes == nil {
		o.Nodes = []topology.NodeOccupancy{}
	}
	return o, o.Validate()
}

// checkJobNodes names nodes of jobs that the list of nodes lacks.
func (v *view) checkJobNodes() {
	if !v.hasNodes {
		return
	}
	known := make(map[string]bool, len(v.nodes))
	for i := range v.nodes {
		known[v.nodes[i].Name] = true
	}
	for i := range v.jobs {
		for _, n := range v.jobs[i].Nodes {
			if !known[n] {
				v.odd.add("occupancy-node-unknown", topology.Warning, n, "jobs run on nodes that the list of nodes lacks",
					"take both lists at the same time, of the same cluster")
				known[n] = true // named once
			}
		}
	}
}

// nodesOfJobs makes the nodes from the jobs where there is no list of nodes.
func (v *view) nodesOfJobs() {
	type use struct {
		gpus  int
		whole bool
	}
	uses := map[string]use{}
	for i := range v.jobs {
		j := &v.jobs[i]
		for _, n := range j.Nodes {
			u := uses[n]
			u.gpus += j.GPUsPerNode
			u.whole = u.whole || j.GPUsPerNode == 0 || u.gpus > topology.MaxNodeGPUs
			uses[n] = u
		}
	}
	for n, u := range uses {
		o := topology.NodeOccupancy{Name: n, Use: topology.UseBusy, GPUsUsedCount: u.gpus}
		if u.whole {
			o.GPUsUsedCount = 0
		}
		v.nodes = append(v.nodes, o)
	}
}

func nodeCommand(side string) string {
	switch side {
	case Slurm:
		return "scontrol show nodes --json"
	case Kubernetes:
		return "kubectl get nodes -o json"
	}
	return "pbsnodes -av -F json"
}

func jobCommand(side string) string {
	switch side {
	case Slurm:
		return "squeue --json"
	case Kubernetes:
		return "kubectl get pods -A -o json"
	}
	return "qstat -f -t -F json"
}

// oddities collect what was not understood: one finding for each kind, with the subjects it concerns.
type oddities struct {
	kinds map[topology.Finding]*subjects // Subject empty
}

// maxSubjects are named in one finding; more are counted.
const maxSubjects = 8

type subjects struct {
	first []string // the smallest names, sorted
	count int
}

func (o *oddities) add(code string, severity topology.Severity, subject, message, remedy string) {
	if o.kinds == nil {
		o.kinds = map[topology.Finding]*subjects{}
	}
	kind := topology.Finding{Code: code, Severity: severity, Message: message, Remedy: remedy}
	s := o.kinds[kind]
	if s == nil {
		if len(o.kinds) == maxKinds {
			kind = topology.Finding{Code: "occupancy-more", Severity: topology.Warning,
				Message: fmt.Sprintf("more than %d kinds of things were not understood", maxKinds), Remedy: "look at the input: it may not be what it seems"}
		}
		if s = o.kinds[kind]; s == nil {
			s = &subjects{}
			o.kinds[kind] = s
		}
	}
	s.count++
	subject = clip(subject, maxName)
	at, found := slices.BinarySearchFunc(s.first, subject, topology.CompareNames)
	if found || at == maxSubjects {
		return
	}
	s.first = slices.Insert(s.first, at, subject)
	s.first = s.first[:min(len(s.first), maxSubjects)]
}

// maxKinds bounds the findings of one document.
const maxKinds = 1000

func (o *oddities) findings() []topology.Finding {
	var out []topology.Finding
	for f, s := range o.kinds {
		f.Subject = strings.Join(s.first, ",")
		if more := s.count - len(s.first); more > 0 {
			f.Message += fmt.Sprintf(" (%d in all)", s.count)
		}
		out = append(out, f)
	}
	return topology.SortFindings(out)
}
