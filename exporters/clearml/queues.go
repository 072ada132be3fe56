package clearml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names of the files that Queues renders.
const (
	QueuesName = "queues.json"
	AgentsName = "agents.txt"
)

// Options is how queues are rendered.
type Options struct {
	// Sides are the schedulers whose agents pull, one queue per side and leaf group; none = "any".
	Sides []string
	// Fallback is the queue that every agent of a side also pulls from, after its leaf group's; "" = SIDE-any.
	Fallback string
	// Previous holds the lowest share of each queue as it is in force (see ReadShares), for hysteresis.
	Previous map[string]int64
}

// Queue is one queue: the body of queues.create (or queues.update, which adds the field queue), and the metadata that goes to
// queues.add_or_update_metadata with the id that the server answered.
type Queue struct {
	Create   QueueCreate `json:"create"`
	Metadata []Metadata  `json:"metadata"`
}

// QueueCreate is the body of queues.create.
type QueueCreate struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// Metadata is one entry of queues.add_or_update_metadata.
type Metadata struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// queuesFile is the content of queues.json.
type queuesFile struct {
	Queues []Queue `json:"queues"`
}

// Queues renders the queues of all leaf groups, and the command that starts the agent of each node. Tags name the groups above
// a leaf ("pod:pod0"), so that a router can find all queues of a pod; metadata holds the nodes, how many there are and the
// share of a healthy node's bandwidth that the slowest of them has. Nodes outside the fabric serve the fallback queue only.
func Queues(t *topology.Topology, o Options) ([]exporters.File, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, err
	}
	if len(flat.Nodes) == 0 {
		return nil, errors.New("the map has no nodes: must have at least one")
	}
	sides := slices.Clone(o.Sides)
	if len(sides) == 0 {
		sides = []string{"any"}
	}
	for i, s := range sides {
		if err := checkName(s); err != nil || slices.Contains(sides[:i], s) {
			return nil, fmt.Errorf("side %q: must be a name of letters, digits, '-' and '_' that stands once", s)
		}
	}
	leaves := leavesOf(flat)
	var file queuesFile
	var agents strings.Builder
	agents.WriteString("# Written by railmap: the agent of each node. It pulls from its leaf group first, then from the fallback queue.\n")
	for _, side := range sides {
		fallback := o.Fallback
		if fallback == "" {
			fallback = side + "-any"
		}
		if err := checkName(fallback); err != nil {
			return nil, err
		}
		for _, l := range leaves {
			q := ""
			if l.name != "" {
				file.Queues = append(file.Queues, l.queue(side, flat.Levels, o.Previous))
				q = QueueName(side, l.name) + " "
			}
			for _, n := range l.nodes {
				fmt.Fprintf(&agents, "%s: clearml-agent daemon --queue %s%s%s --create-queue\n", n.Name, q, fallback, gpus(n.GPUCount))
			}
		}
		if !slices.ContainsFunc(file.Queues, func(q Queue) bool { return q.Create.Name == fallback }) {
			file.Queues = append(file.Queues, Queue{Create: QueueCreate{Name: fallback, Tags: []string{"railmap", "side:" + side}}, Metadata: []Metadata{}})
		}
	}
	data, err := encode(file)
	if err != nil {
		return nil, err
	}
	if p := Lint(data); exporters.Refused(p) {
		return nil, fmt.Errorf("%s: %s", QueuesName, p[0])
	}
	return []exporters.File{{Name: QueuesName, Data: data, Nodes: len(flat.Nodes)}, {Name: AgentsName, Data: []byte(agents.String()), Nodes: len(flat.Nodes)}}, nil
}

// gpus gives the agent the GPUs that the map knows.
func gpus(n int) string {
	if n <= 0 {
		return ""
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return " --gpus " + strings.Join(ids, ",")
}

// leaf is a leaf group and its nodes in ring order; name "" = the nodes outside.
type leaf struct {
	name   string
	groups []string
	nodes  []exporters.FlatNode
}

func leavesOf(flat exporters.Flat) []leaf {
	at := slices.Index(flat.Levels, topology.LeafLevel)
	var leaves []leaf
	index := map[string]int{}
	for _, n := range flat.Nodes {
		name := ""
		if at >= 0 {
			name = n.Groups[at]
		}
		i, ok := index[name]
		if !ok {
			i = len(leaves)
			index[name] = i
			leaves = append(leaves, leaf{name: name, groups: n.Groups})
		}
		leaves[i].nodes = append(leaves[i].nodes, n)
	}
	return leaves
}

// queue renders one leaf group of a side. Metadata values are strings on the wire.
func (l leaf) queue(side string, levels []string, previous map[string]int64) Queue {
	q := Queue{Create: QueueCreate{Name: QueueName(side, l.name), Tags: []string{"railmap", "side:" + side}}}
	for i, level := range levels {
		if level == topology.DomainLevel || l.groups[i] == "" {
			continue
		}
		q.Create.Tags = append(q.Create.Tags, level+":"+l.groups[i])
	}
	names := make([]string, 0, len(l.nodes))
	lowest, known := 1.0, false
	for _, n := range l.nodes {
		names = append(names, n.Name)
		if n.Share != nil {
			known = true
			lowest = min(lowest, *n.Share)
		}
	}
	q.Metadata = []Metadata{
		{"railmap.nodes", "string", topology.SortedHostlist(names)},
		{"railmap.node_count", "int", strconv.Itoa(len(names))},
	}
	if known {
		before, ok := previous[q.Create.Name]
		if !ok {
			before = -1
		}
		q.Metadata = append(q.Metadata, Metadata{shareKey, "int", strconv.FormatInt(exporters.QuantiseShare(before, lowest), 10)})
	}
	return q
}

// shareKey is the metadata for the bandwidth of the slowest node of a queue, in percent of a healthy one's.
const shareKey = "railmap.lowest_share_percent"

// ReadShares reads the lowest share of each queue back from a file that Queues wrote.
func ReadShares(data []byte) (map[string]int64, error) {
	var file queuesFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	shares := map[string]int64{}
	for _, q := range file.Queues {
		for _, m := range q.Metadata {
			if v, err := strconv.ParseInt(m.Value, 10, 64); m.Key == shareKey && err == nil {
				shares[q.Create.Name] = v
			}
		}
	}
	return shares, nil
}

// QueueName joins a side and a leaf group. Queue names are free text for the server; only what shells stumble over goes.
func QueueName(side, group string) string {
	return side + "-" + strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(nameBytes+".", r) {
			return r
		}
		return '_'
	}, group)
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkName(s string) error {
	if s == "" || strings.Trim(s, nameBytes) != "" {
		return fmt.Errorf("name %q: must be letters, digits, '-' and '_'", s)
	}
	return nil
}

// encode writes JSON with one field per line, so that a change of one node is a change of one line.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
