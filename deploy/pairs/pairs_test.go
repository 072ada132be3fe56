package pairs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestScriptsParse(t *testing.T) {
	for _, f := range []string{"sweep.sbatch", "sweep-pdsh"} {
		if out, err := exec.Command("bash", "-n", f).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", f, err, out)
		}
	}
}

// The batch script hands srun what railmap needs; srun and scontrol are stand-ins that print their arguments.
func TestSweepBatch(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{"srun": "#!/bin/sh\necho \"$@\"\n", "scontrol": "#!/bin/sh\nprintf 'gpu1\\ngpu2\\n'\n"} {
		if err := os.WriteFile(dir+"/"+name, []byte(body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "sweep.sbatch", "--method", "perftest")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=gpu[1-2]", "TOKEN="+dir+"/token")
	out, err := cmd.Output()
	want := "--kill-on-bad-exit=0 railmap probe pairs --coordinator gpu1:7900 --token-file " + dir + "/token -t /etc/railmap/topology.yaml --budget 10m -o pairs-7.json --method perftest\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n got %s\nwant %s", err, out, want)
	}
	if token, err := os.ReadFile(dir + "/token"); err != nil || len(token) != 64 {
		t.Errorf("token %q, %v", token, err)
	}
}

// The Job reaches its own index 0 through its Service, and its numbers agree.
func TestKubernetesJob(t *testing.T) {
	f, err := os.Open("../kubernetes/pairs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Subdomain  string
					Containers []struct{ Args []string }
				}
			}
		}
	}
	objects := map[string]object{}
	for dec := yaml.NewDecoder(f); ; {
		var o object
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		objects[o.Kind] = o
	}
	job, service := objects["Job"], objects["Service"].Metadata
	args := strings.Join(job.Spec.Template.Spec.Containers[0].Args, " ")
	want := "--coordinator " + job.Metadata.Name + "-0." + service.Name + "." + service.Namespace + ".svc:7900 "
	if !strings.Contains(args, want) || !strings.Contains(args, " --of 16 ") || job.Spec.Completions != 16 || job.Spec.Parallelism != 16 || job.Spec.Template.Spec.Subdomain != service.Name {
		t.Errorf("%s: want %s; %+v", args, want, job.Spec)
	}
}
