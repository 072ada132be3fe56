package slurm

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
)

// serving is a controller that has loaded the files of a map, in a folder that Apply may write to.
type serving struct {
	testController
	install Install
	version Version
	good    []exporters.File
}

func serve(t *testing.T, s realSlurm) serving {
	t.Helper()
	good, _, err := Tree(fatTree(2, 4, 4, 1), Options{Version: s.version})
	if err != nil {
		t.Fatal(err)
	}
	beside := map[string][]byte{}
	for _, f := range good {
		beside[f.Name] = f.Data
	}
	c, err := s.start(t, beside, "include "+FragmentFile+"\n"+futureNodes(numbered("node%04d", 1, 32)))
	if err != nil {
		t.Fatal(err)
	}
	c.run(t, "scontrol", "ping")
	i := s.Install
	i.Conf, i.mount = s.seen(c.work)+"/slurm.conf", c.work
	return serving{c, i, s.version, good}
}

func (s *serving) options() ApplyOptions {
	return ApplyOptions{Install: s.install, Kind: TreeKind, Nodes: numbered("node%04d", 1, 32), Write: exporters.WriteOptions{Target: "slurm"}, Wait: 10 * time.Second}
}

// stillServes checks that the controller runs, and that files and controller say the same.
func (s *serving) stillServes(t *testing.T, want []byte) {
	t.Helper()
	select {
	case <-s.process.done:
		t.Fatalf("the controller is gone\n%s", s.log)
	default:
	}
	got, err := os.ReadFile(filepath.Join(s.work, ConfFile))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("topology.conf is\n%s(%v), want\n%s", got, err, want)
	}
	config, _ := ParseConf(want, TreeKind, s.version)
	checkShown(t, s.testController, config)
}

func TestRealVerify(t *testing.T) {
	bad := []exporters.File{{Name: ConfFile, Data: []byte("SwitchName=s0 Nodes=n[1-8]\nSwitchName=s0 Nodes=n9\n")},
		{Name: FragmentFile, Data: Fragment(TreeKind, Version{})}}
	for _, s := range realSlurms(t) {
		good, _, err := Tree(fatTree(2, 4, 4, 1), Options{Version: s.version})
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := Verify(t.Context(), s.Install, TreeKind, good); err != nil || len(problems) > 0 {
			t.Errorf("%s: good files: %v %v", s.release, problems, err)
		}
		if problems, err := Verify(t.Context(), s.Install, TreeKind, bad); err != nil || !exporters.Refused(problems) {
			t.Errorf("%s: a switch twice: %v %v", s.release, problems, err)
		}
	}
	if _, err := Verify(t.Context(), Install{Root: t.TempDir()}, TreeKind, bad); !errors.Is(err, ErrNoSlurm) {
		t.Errorf("nothing installed: %v", err)
	}
}

// TestRealNodes asks controllers for the nodes of slurm.conf.
func TestRealNodes(t *testing.T) {
	for _, r := range realSlurms(t) {
		c, err := r.start(t, nil, "NodeName=n[1-3],m09 NodeAddr=127.0.0.1 CPUs=1 Port=17000\nPartitionName=q Nodes=n1")
		if err != nil {
			t.Fatal(err)
		}
		c.run(t, "scontrol", "ping")
		i := r.Install
		i.Conf, i.mount = r.seen(c.work)+"/slurm.conf", c.work
		names, err := Nodes(t.Context(), i)
		if d := cmp.Diff(expandForTest(t, "m09,n[1-3]"), sortedNames(names)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", r.release, err, d)
		}
	}
}

// TestRealApply moves a running controller to a new map and back.
func TestRealApply(t *testing.T) {
	for _, r := range realSlurms(t) {
		t.Run(r.release, func(t *testing.T) {
			s := serve(t, r)
			next, _, err := Tree(fatTree(4, 2, 4, 1), Options{Version: s.version})
			if err != nil {
				t.Fatal(err)
			}
			for _, files := range [][]exporters.File{next, s.good, s.good} {
				if _, err := Apply(t.Context(), s.work, files, s.options()); err != nil {
					t.Fatal(err)
				}
				s.stillServes(t, files[0].Data)
			}
			said := s.log.String()
			if _, err := Apply(t.Context(), s.work, s.good, s.options()); err != nil || s.log.String() != said {
				t.Errorf("nothing to change, but the controller was disturbed: %v\n%s", err, s.log.String()[len(said):])
			}
		})
	}
}

// TestRealApplyDamaged damages a good file at random, 20 times for each release. Nothing may kill the controller: a file is
// refused and the old one stays, or it is harmless and the controller has it.
func TestRealApplyDamaged(t *testing.T) {
	for _, r := range realSlurms(t) {
		t.Run(r.release, func(t *testing.T) {
			s := serve(t, r)
			rng := rand.New(rand.NewPCG(uint64(r.version.Year), 20))
			refused := 0
			for n := range 20 {
				now, err := os.ReadFile(filepath.Join(s.work, ConfFile))
				if err != nil {
					t.Fatal(err)
				}
				broken := damage(rng, s.good[0].Data)
				_, err = Apply(t.Context(), s.work, []exporters.File{{Name: ConfFile, Data: broken, Nodes: 32}, s.good[1]}, s.options())
				if err != nil {
					refused++
					broken = now
				}
				s.stillServes(t, broken)
				if t.Failed() {
					t.Fatalf("damage %d: %v", n, err)
				}
			}
			if refused < 10 {
				t.Errorf("only %d of 20 damaged files were refused", refused)
			}
		})
	}
}

// TestRealLintHolds damages good files at random: what the lint lets pass must load in every release without a word that the
// lint did not say, and mean the same there. RAILMAP_HEAVY=1 tries 30 times as many.
func TestRealLintHolds(t *testing.T) {
	tries := 20
	if os.Getenv("RAILMAP_HEAVY") != "" {
		tries = 600
	}
	topo := fatTree(2, 2, 8, 2)
	nodes := newScope(topo, nil).nodes
	for _, r := range realSlurms(t) {
		for _, kind := range []Kind{TreeKind, BlockKind, YAMLKind} {
			good, _, err := Render(topo, kind, Options{Version: r.version})
			if err != nil {
				continue // not in this release
			}
			t.Run(r.release+"/"+string(kind), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(r.version.Year), 21))
				passed := 0
				for range tries {
					broken := damage(rng, good[0].Data)
					if kind == TreeKind || kind == BlockKind {
						broken = damageLine(rng, broken)
					}
					said := Lint(broken, kind, LintOptions{Version: r.version, Nodes: nodes})
					if exporters.Refused(said) {
						continue
					}
					passed++
					files := []exporters.File{{Name: good[0].Name, Data: broken}, good[1]}
					problems, err := Verify(t.Context(), r.Install, kind, files)
					if err != nil || exporters.Refused(problems) || len(problems) > 0 && len(said) == 0 {
						t.Errorf("the lint says %v, Slurm %v %v of\n%s", said, problems, err, broken)
					}
				}
				t.Logf("%d of %d damaged files passed the lint", passed, tries)
			})
		}
	}
}

// damageLine now and then adds what people write: comments, other case, blanks, quotes, a continued line.
func damageLine(rng *rand.Rand, data []byte) []byte {
	edits := [][2]string{{"Nodes=", "nodes = "}, {"SwitchName", "SWITCHNAME"}, {"\n", " # x\n"}, {"\n", "\r\n"}, {" Nodes", " \\\n\tNodes"},
		{"0001", "00001"}, {"[", "[[ "}, {"BlockSizes=", "BlockSizes=1,"}, {"Nodes=node", "Nodes=,node"}, {"]\n", "],\n"}, {"-", "-0"}}
	e := edits[rng.IntN(len(edits))]
	if rng.IntN(2) == 0 {
		return data
	}
	return []byte(strings.Replace(string(data), e[0], e[1], 1+rng.IntN(3)))
}

// damage changes bytes, drops, repeats or swaps lines, cuts the file, or puts a word of the format somewhere.
func damage(rng *rand.Rand, good []byte) []byte {
	lines := strings.SplitAfter(string(good), "\n")
	i, j := rng.IntN(len(lines)-1), rng.IntN(len(lines)-1)
	switch rng.IntN(7) {
	case 0:
		lines[i] = ""
	case 1:
		lines[i] += lines[j]
	case 2:
		lines[i], lines[j] = lines[j], lines[i]
	case 3:
		return good[:rng.IntN(len(good))]
	case 4:
		words := []string{"Nodes=", "Switches=", "[", "]", "#", "\\", ",", "-", " ", "LinkSpeed=1", "\"", "BlockName=b"}
		at := rng.IntN(len(good))
		return []byte(string(good[:at]) + words[rng.IntN(len(words))] + string(good[at:]))
	default:
		out := bytes.Clone(good)
		out[rng.IntN(len(out))] = byte(rng.IntN(256))
		return out
	}
	return []byte(strings.Join(lines, ""))
}

// TestRealRollBack skips the checks, so that the controller itself meets what it cannot use.
func TestRealRollBack(t *testing.T) {
	for _, r := range realSlurms(t) {
		t.Run(r.release+"/another folder", func(t *testing.T) {
			s := serve(t, r)
			dir := t.TempDir() // the controller reads its files elsewhere, so it never shows the new ones
			old, _, _ := Tree(fatTree(1, 8, 4, 1), Options{Version: s.version})
			if _, err := exporters.Write(dir, old, s.options().Write); err != nil {
				t.Fatal(err)
			}
			o := s.options()
			o.Wait = 100 * time.Millisecond
			next, _, _ := Tree(fatTree(4, 2, 4, 1), Options{Version: s.version})
			if _, err := Apply(t.Context(), dir, next, o); !errors.Is(err, ErrRolledBack) {
				t.Fatalf("error %v, want rolled back", err)
			}
			if drift, err := exporters.Check(dir, old); err != nil || drift.Differs() {
				t.Errorf("the old files are not back: %v\n%s", err, drift.Diff)
			}
			s.stillServes(t, s.good[0].Data)
		})
		if r.version.Before(v2311) {
			continue // this release ends at a bad file: hence the checks
		}
		t.Run(r.release+"/bad file under a daemon", func(t *testing.T) {
			s := serve(t, r)
			s.process.stop()
			pid := daemon(t, &s)
			o := s.options()
			o.unchecked = true
			bad := exporters.File{Name: ConfFile, Data: append(bytes.Clone(s.good[0].Data), "SwitchName=leaf0 Nodes=node0001\n"...), Nodes: 32}
			if _, err := Apply(t.Context(), s.work, []exporters.File{bad, s.good[1]}, o); !errors.Is(err, ErrRolledBack) {
				t.Fatalf("error %v, want rolled back", err)
			}
			if err := syscall.Kill(pid(), 0); err != nil {
				t.Fatalf("the daemon is gone: %v", err)
			}
			config, _ := ParseConf(s.good[0].Data, TreeKind, s.version)
			got, err := loaded(TreeKind, func(args ...string) (string, error) { return s.install.run(t.Context(), "", args...) })
			if err != nil || !same([]Entry{{Plugin: TreeKind, Config: config}}, got) {
				t.Errorf("the daemon does not have the old map: %v %v", got, err)
			}
			if drift, err := exporters.Check(s.work, s.good); err != nil || drift.Differs() {
				t.Errorf("the old files are not back: %v\n%s", err, drift.Diff)
			}
		})
	}
}

// daemon starts the controller of s again, in the background as sites run it, and returns a way to ask for its pid, which a
// reconfigure changes.
func daemon(t *testing.T, s *serving) (pid func() int) {
	t.Helper()
	pid = func() int {
		data, _ := os.ReadFile(filepath.Join(s.work, "slurmctld.pid"))
		n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		return n
	}
	if out, err := s.install.run(t.Context(), "", "slurmctld", "-c", "-f", s.install.Conf); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if n := pid(); n > 1 {
			_ = syscall.Kill(n, syscall.SIGTERM)
			for deadline := time.Now().Add(10 * time.Second); syscall.Kill(n, 0) == nil && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err := s.install.run(t.Context(), "", "scontrol", "ping"); err == nil {
			return pid
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
