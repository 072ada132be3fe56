package slurm

import (
	"fmt"
	"testing"
)

// BenchmarkRender writes and lints the files of a three-level fabric with leaves of 32 nodes. Rails do not matter here: a
// group is one switch, however many devices it stands for.
func BenchmarkRender(b *testing.B) {
	for _, pods := range []int{8, 32} {
		topo := fatTree(pods, 16, 32, 1)
		for _, kind := range []Kind{TreeKind, BlockKind, YAMLKind} {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind, len(topo.Nodes)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := Render(topo, kind, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLint reads a file of 16,384 nodes against the same nodes.
func BenchmarkLint(b *testing.B) {
	topo := fatTree(32, 16, 32, 1)
	files, _, err := Tree(topo, Options{})
	if err != nil {
		b.Fatal(err)
	}
	names := newScope(topo, nil).nodes
	b.SetBytes(int64(len(files[0].Data)))
	for b.Loop() {
		if problems := Lint(files[0].Data, TreeKind, LintOptions{Nodes: names}); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
