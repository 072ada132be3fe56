package nccl

import "fmt"

// Advice is a change that makes a job faster.
type Advice struct {
	Message                    string  `json:"message"`
	BusBandwidthBytesPerSecond float64 `json:"busBandwidthBytesPerSecond"`
}

// Advise tries what an operator can do about a prediction: leave out the slow NICs of the job's nodes (one at half speed
// halves the ring of the whole job, its absence costs one part in eight), and put the nodes in the order of the tree.
func Advise(j *Job, p Prediction) ([]Advice, error) {
	var out []Advice
	try := func(change Job, message string) error {
		q, err := Predict(&change)
		if err != nil {
			return err
		}
		if q.TimeSeconds < p.TimeSeconds*.995 {
			out = append(out, Advice{fmt.Sprintf("%s: %.0f GB/s instead of %.0f", message, q.BusBandwidthBytesPerSecond/1e9,
				p.BusBandwidthBytesPerSecond/1e9), q.BusBandwidthBytesPerSecond})
		}
		return nil
	}
	without := *j
	without.LeaveOutSlow = true
	if err := try(without, "leave out the slow NIC (see railmap nccl hints)"); err != nil {
		return nil, err
	}
	if j.Fabric != nil {
		ordered := *j
		ordered.Nodes = j.inTreeOrder()
		if err := try(ordered, "give ranks in the order of the tree (see railmap nccl order)"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inTreeOrder is the job's nodes as Fabric.Sort puts them.
func (j *Job) inTreeOrder() []JobNode {
	names := make([]string, len(j.Nodes))
	byName := make(map[string]JobNode, len(j.Nodes))
	for i, n := range j.Nodes {
		names[i], byName[n.Name] = n.Name, n
	}
	out := make([]JobNode, 0, len(names))
	for _, name := range j.Fabric.Sort(names) {
		out = append(out, byName[name])
	}
	return out
}
