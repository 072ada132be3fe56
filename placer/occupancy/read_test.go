package occupancy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

const ourYAML = `# made by hand
apiVersion: railmap.dev/v1
kind: Occupancy
side: lsf
nodes:
- {name: n1, use: busy}
`

func TestReadSniffs(t *testing.T) {
	nodes, jobs := slurmDoc("nodes", `{"name": "n1", "state": "idle"}`), slurmDoc("jobs", `{"job_id": 1, "job_state": "RUNNING", "nodes": "n1"}`)
	for _, c := range []struct{ name, in, side string }{
		{"yaml", ourYAML, "lsf"},
		{"json", `{"apiVersion": "railmap.dev/v1", "kind": "Occupancy", "side": "clearml", "nodes": []}`, "clearml"},
		{"json, keys in another order", `{"kind": "Occupancy", "side": "clearml", "apiVersion": "railmap.dev/v1", "nodes": []}`, "clearml"},
		{"one answer after the other", nodes + "\n" + jobs, Slurm},
		{"without a blank between", jobs + nodes, Slurm},
		{"kubernetes", list(kubeNode("n1", "", ready)), Kubernetes},
		{"kubernetes, sorted keys", `{"items": [], "kind": "NodeList"}`, Kubernetes},
		{"pbs", pbsDoc("nodes", `"n1": {"state": "free"}`), PBS},
		{"pbs, sorted keys", `{"Jobs": {}, "nodes": {"n1": {"state": "free"}}, "pbs_version": "23"}`, PBS},
		{"nothing runs", slurmDoc("jobs"), Slurm},
		{"null", `{"nodes": null}`, Slurm},
	} {
		t.Run(c.name, func(t *testing.T) {
			var zip bytes.Buffer
			w := gzip.NewWriter(&zip)
			io.WriteString(w, c.in)
			w.Close()
			for _, in := range []io.Reader{strings.NewReader(c.in), &zip, io.MultiReader(strings.NewReader(c.in[:1]), strings.NewReader(c.in[1:]))} {
				o, err := Read(in, "file")
				if err != nil {
					t.Fatal(err)
				}
				if o.Side != c.side {
					t.Errorf("side %s, want %s", o.Side, c.side)
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	deep := strings.Repeat(`{"nodes":[`, 20000)
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "file: empty: must be the JSON of scontrol"},
		{"text", "NodeName=n1 State=IDLE\n", "file:1: "},
		{"other JSON", `{"x": 1}`, "holds no nodes and no jobs"},
		{"list", `[1]`, "must be the JSON of scontrol"},
		{"cut", "{\"nodes\": [\n{\"name\": \"n1\",\n", "file:3: the input ends inside the document"},
		{"broken", "{\"nodes\": [\n{\"name\": n1}]}", "file:2: invalid character"},
		{"type", "{\"nodes\": [\n{\"name\": 5}]}", "file:2: name is a JSON number: must be another type"},
		{"no list", `{"jobs": 5}`, "must be a list or an object"},
		{"object for a list", `{"jobs": {}}`, `jobs starts with "{": must start with "["`},
		{"node without a name", "{\"nodes\": [{\"state\": \"idle\"}]}", `nodes[0]: name is "": must be`},
		{"name with a blank", `{"nodes": [{"name": "a b"}]}`, "without blanks"},
		{"two nodes of a name", slurmDoc("nodes", `{"name": "n1", "state": "idle"}`, `{"name": "n1", "state": "idle"}`), "node n1 is listed twice"},
		{"two vnodes of a name", pbsDoc("nodes", `"n1": {"state": "free"}`, `"n1": {"state": "free"}`), "node n1 is listed twice"},
		{"two jobs of an id", slurmDoc("jobs", `{"job_id": 1, "job_state": "RUNNING", "nodes": "n1"}`, `{"job_id": 1, "job_state": "RUNNING", "nodes": "n1"}`), "job 1 is listed twice"},
		{"job without an id", slurmDoc("jobs", `{"job_state": "RUNNING"}`), "jobs[0]: job_id must be a number"},
		{"errors of Slurm", `{"jobs": [], "errors": [{"description": "Unable to contact slurm controller", "error_number": 1}]}`, `Slurm says "Unable to contact slurm controller"`},
		{"grouped", "{\"sinfo\": [{}]}", "must be the output of scontrol show nodes --json"},
		{"one object", kubeNode("n1", "", ""), `kind is "Node": must be a List`},
		{"status of Kubernetes", `{"kind": "Status", "apiVersion": "v1", "status": "Failure"}`, `kind is "Status"`},
		{"two schedulers in an object", `{"jobs": [], "items": []}`, `key "items" is of kubernetes, others before it of slurm`},
		{"two schedulers in a file", slurmDoc("jobs") + list(), "holds kubernetes and slurm: must be of one scheduler"},
		{"our document with late apiVersion", `{"kind": "Occupancy", "jobs": [], "apiVersion": "railmap.dev/v1"}`, "is of slurm, others before it of kubernetes"},
		{"another kind of ours", strings.Replace(ourYAML, "Occupancy", "Topology", 1), "must be Occupancy"},
		{"bad document of ours", strings.Replace(ourYAML, "busy", "asleep", 1), "must be free, busy"},
		{"deep", deep, "file:1:"},
		{"too many names", slurmDoc("jobs", `{"job_id": 1, "job_state": "RUNNING", "nodes": "`+strings.TrimSuffix(strings.Repeat("n[0-65535],", 17), ",")+`"}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := Read(strings.NewReader(c.in), "file")
			if c.want == "" {
				if err != nil || len(o.Findings) == 0 {
					t.Errorf("must be a finding: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := FromSlurm(strings.NewReader(list()), nil); err == nil || !strings.Contains(err.Error(), "must be of slurm only") {
		t.Errorf("kubernetes as slurm: %v", err)
	}
	if _, err := FromPBS(nil, nil); err == nil {
		t.Error("nothing must be refused")
	}
	if _, err := ReadAll(Source{"a", strings.NewReader(ourYAML)}, Source{"b", strings.NewReader(ourYAML)}); err == nil || !strings.Contains(err.Error(), "one per side") {
		t.Errorf("two documents of a side: %v", err)
	}
}

// Names are expanded only up to a limit, whatever the text promises.
func TestReadBoundsJobNodes(t *testing.T) {
	var jobs []string
	for i := range 70 {
		jobs = append(jobs, strings.Replace(`{"job_id": %, "job_state": "RUNNING", "nodes": "n[0-65535]"}`, "%", string(rune('1'+i%9))+strings.Repeat("0", i/9), 1))
	}
	if _, err := Read(strings.NewReader(slurmDoc("jobs", jobs...)), "file"); err == nil || !strings.Contains(err.Error(), "must be fewer") {
		t.Errorf("got %v", err)
	}
}

// One entry is bounded, so that a broken input does not fill the memory.
func TestReadBoundsEntry(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"nodes": [{"name": "`), &endless{})
	if _, err := Read(in, "file"); err == nil || !strings.Contains(err.Error(), "one entry is larger") {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// The order of entries, of files and of map keys does not reach the answer.
func TestReadOrder(t *testing.T) {
	nodes := []string{kubeNode("n1", "", ready), kubeNode("n2", `"taints": [{"key": "x", "effect": "NoSchedule"}]`, ready), kubeNode("n10", `"taints": [{"key": "x", "effect": "NoSchedule"}]`, ready)}
	pods := []string{kubePod("a", "n1", 4, `, "labels": {"job-name": "t"}`, ""), kubePod("b", "n2", 4, `, "labels": {"job-name": "t"}`, ""),
		kubePod("c", "n10", 1, "", ""), kubePod("d", "n10", 2, `, "annotations": {"railmap.dev/lease": "l-1"}`, "")}
	var want string
	rng := rand.New(rand.NewSource(1))
	for range 50 {
		all := append(append([]string{}, nodes...), pods...)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		cut := rng.Intn(len(all))
		got, err := ReadAll(Source{"a", strings.NewReader(list(all[:cut]...))}, Source{"b", strings.NewReader(list(all[cut:]...))})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := topology.Write(&buf, got[0], topology.YAML); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = buf.String()
		}
		if diff := cmp.Diff(want, buf.String()); diff != "" {
			t.Fatalf("-first +now\n%s", diff)
		}
	}
}

// FuzzRead: nothing panics; what is read is valid, the same every time, and survives being written and read.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		ourYAML, slurmDoc("nodes", `{"name": "n1", "state": ["MIXED"], "gres": "gpu:h100:8(S:0-1)", "gres_used": "gpu:h100:3(IDX:0,4-5)"}`),
		slurmDoc("nodes", `{"name": "n1", "state": "idle", "state_flags": ["DRAIN"]}`) + slurmDoc("jobs", `{"job_id": {"set": true, "number": 7}, "job_state": ["RUNNING"], "nodes": "n[1-2]", "gres_detail": ["gpu:4","gpu:4"], "comment": "railmap:l-1", "time_limit": 5, "end_time": 1796140800}`),
		list(kubeNode("n1", `"unschedulable": true, "taints": [{"key": "x", "effect": "NoSchedule"}]`, ready), kubePod("a", "n1", 2, `, "labels": {"job-name": "t"}`, `, "initContainers": [{}]`)),
		pbsDoc("nodes", `"n1[0]": {"state": "free,job-busy", "jobs": ["1"], "resources_available": {"ngpus": 8}, "resources_assigned": {"ngpus": "3"}}`),
		pbsDoc("Jobs", `"1.s": {"job_state": "R", "exec_vnode": "(n2:ncpus=8:ngpus=4+n3)+(n1)", "Resource_List": {"walltime": "01:00:00"}, "resources_used": {"walltime": "10"}}`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		o, err := Read(bytes.NewReader(data), "file")
		if err != nil {
			return
		}
		if err := o.Validate(); err != nil {
			t.Fatalf("invalid: %v", err)
		}
		var first, second bytes.Buffer
		if err := topology.Write(&first, o, topology.JSON); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(data), "file")
		if err != nil {
			t.Fatal(err)
		}
		if err := topology.Write(&second, again, topology.JSON); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Fatalf("two readings differ:\n%s\n%s", first.String(), second.String())
		}
		if _, err := Read(&first, "document"); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, second.String())
		}
	})
}

// FuzzGres: indices are distinct, sorted, as many as the count, or not told.
func FuzzGres(f *testing.F) {
	for _, s := range []string{"gpu:h100:8(S:0-1)", "gpu:a100:2(IDX:0,3),shard:h100:4(4/8,0/8)", "gres/gpu=8", "(null)", "gpu:1g.10gb:3(IDX:0-2)", "((,))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := parseGres(s)
		if err != nil {
			return
		}
		if g.count < 0 || g.count > topology.MaxNodeGPUs || g.indices != nil && len(g.indices) != g.count {
			t.Fatalf("%q: %+v", s, g)
		}
		for i, x := range g.indices {
			if x < 0 || x >= topology.MaxNodeGPUs || i > 0 && x <= g.indices[i-1] {
				t.Fatalf("%q: %v", s, g.indices)
			}
		}
	})
}

// FuzzExecVnode: hosts are distinct and named.
func FuzzExecVnode(f *testing.F) {
	for _, s := range []string{"(n01:ncpus=8:ngpus=4+n02:ncpus=8)+(n03:ncpus=8)", "(n1[0]:ngpus=1+n1[1]:ngpus=1)", "", "+", "()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hosts, gpus, err := parseExecVnode(s)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, h := range hosts {
			if h == "" || seen[h] {
				t.Fatalf("%q: %q", s, hosts)
			}
			seen[h] = true
		}
		if len(hosts) == 0 || gpus < 0 || gpus > topology.MaxNodeGPUs {
			t.Fatalf("%q: %v x%d", s, hosts, gpus)
		}
	})
}

// BenchmarkRead reads 10,000 nodes with a pod or a job each.
func BenchmarkRead(b *testing.B) {
	const nodes = 10000
	var kube, slurm, jobs []string
	for i := range nodes {
		n := fmt.Sprintf("n%05d", i)
		kube = append(kube, kubeNode(n, "", ready), kubePod("p-"+n, n, 8, `, "labels": {"job-name": "t`+n[:4]+`"}`, ""))
		slurm = append(slurm, `{"name": "`+n+`", "state": ["ALLOCATED"], "gres": "gpu:8", "gres_used": "gpu:8(IDX:0-7)"}`)
		jobs = append(jobs, fmt.Sprintf(`{"job_id": %d, "job_state": ["RUNNING"], "nodes": %q, "gres_detail": ["gpu:8(IDX:0-7)"]}`, i+1, n))
	}
	for name, in := range map[string]string{"kubernetes": list(kube...), "slurm": slurmDoc("nodes", slurm...) + slurmDoc("jobs", jobs...)} {
		b.Run(fmt.Sprintf("%s/nodes=%d", name, nodes), func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(strings.NewReader(in), "file"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
