package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
)

// FuzzLint: no input makes a parser panic, and what the lint accepts means the same after it is written again.
func FuzzLint(f *testing.F) {
	for _, s := range []string{
		"SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n[5-8]\nSwitchName=top Switches=s[0-1]\n",
		"switchname = s0 nodes=n[1-4]   # trailing\n\nSwitchName=top \\\n  Switches=s0\n",
		"SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
		"SwitchName=s0 Nodes=r[1-2]c[0-1]n[01-16],x LinkSpeed=4294967295\n",
		"SwitchName=s0 Nodes=n[0-65535]n[0-65535]n[0-65535]\n",
		"SwitchName=s0 Nodes=n[18446744073709551614-18446744073709551615]\n",
		"BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n",
		"- topology: ib\n  cluster_default: true\n  tree:\n    switches:\n    - switch: s0\n      nodes: n[1-2]\n",
		"- {topology: nvl, cluster_default: true, block: {block_sizes: [2], blocks: [{block: b, nodes: 'n[1-2]'}]}}\n",
		"- &a {topology: x, tree: *a}\n",
		"%YAML 1.1\n---\n- topology: x\n  cluster_default: true\n  flat: true\n...\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []Kind{TreeKind, BlockKind} {
			if exporters.Refused(Lint(data, kind, LintOptions{Version: v2605})) {
				continue
			}
			config, _ := ParseConf(data, kind, v2605)
			written := writeConf(&config)
			if problems := Lint(written, kind, LintOptions{Version: v2605}); exporters.Refused(problems) {
				t.Fatalf("accepted %q, but not what is written of it, %q: %v", data, written, problems)
			}
			again, _ := ParseConf(written, kind, v2605)
			if d := cmp.Diff(config.Canonical(), again.Canonical()); d != "" {
				t.Fatalf("%q changed its meaning in %q:\n%s", data, written, d)
			}
		}
		if !exporters.Refused(Lint(data, YAMLKind, LintOptions{Version: v2605})) {
			entries, _ := ParseYAML(data, v2605)
			written := writeYAML(entries)
			if problems := Lint(written, YAMLKind, LintOptions{Version: v2605}); exporters.Refused(problems) && !hasUnchecked(entries) {
				t.Fatalf("accepted %q, but not what is written of it, %q: %v", data, written, problems)
			}
		}
		_, _ = ParseTopoconf(data)
	})
}

// hasUnchecked reports entries whose members are read but not kept.
func hasUnchecked(entries []Entry) bool {
	for _, e := range entries {
		if e.Plugin == ringKind || e.Plugin == torusKind || e.Plugin == BlockKind && len(e.Config.BlockSizes) == 0 {
			return true
		}
	}
	return false
}

// FuzzShow: no output of a controller makes the parser panic.
func FuzzShow(f *testing.F) {
	f.Add([]byte("SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=gpu[001-004]\nSwitchName=s Level=1 LinkSpeed=1 Nodes=gpu[001-004] Switches=leaf0\n"))
	f.Add([]byte("BlockName=b1 BlockIndex=0 Nodes=n[01-18] BlockSize=18\nAggregatedBlock=b[1-2] BlockIndex=4 Nodes=n[01-36] BlockSize=36\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseShow(data)
		if err == nil {
			c.Canonical()
		}
	})
}
