package slurm

import (
	"strings"
	"testing"
)

func TestJobOptions(t *testing.T) {
	topo := fatTree(2, 2, 4, 1) // four leaves of 4: 0001-0004, 0005-0008, ...
	for _, c := range []struct {
		name, nodes string
		kind        Kind
		want        string
	}{
		{"tree", "node[0007,0001-0002]", TreeKind, "--nodes=3 --nodelist=node[0001-0002,0007]"},
		{"inside a block", "node[0001-0003]", BlockKind, "--nodes=3 --nodelist=node[0001-0003]"},
		{"whole blocks", "node[0001-0004,0009-0012]", BlockKind, "--nodes=8 --nodelist=node[0001-0004,0009-0012]"},
		{"halves of two blocks", "node[0001-0002,0007-0008]", BlockKind, "--nodes=4 --exclude=node[0003-0006,0009-0016] --segment=2"},
		{"a block and a half", "node[0001-0006]", BlockKind, "--nodes=6 --exclude=node[0007-0016] --segment=2"},
		{"uneven parts", "node[0001-0003,0005]", BlockKind, "--nodes=4 --exclude=node[0004,0006-0016] --segment=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := JobOptions(topo, expandForTest(t, c.nodes), c.kind, Options{Version: Version{24, 11}})
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("got %v %v, want %s", got, err, c.want)
			}
		})
	}
	for _, bad := range []struct {
		nodes []string
		kind  Kind
	}{{nil, TreeKind}, {[]string{"a/b"}, TreeKind}, {[]string{"node9999"}, BlockKind}, {[]string{"node0001"}, YAMLKind}} {
		if got, err := JobOptions(topo, bad.nodes, bad.kind, Options{}); err == nil {
			t.Errorf("%v with %s: %v, want an error", bad.nodes, bad.kind, got)
		}
	}
}

func TestLargestSegment(t *testing.T) {
	for _, c := range []struct {
		counts []int
		base   int
		want   int
	}{{[]int{4, 8}, 16, 4}, {[]int{16, 16}, 8, 8}, {[]int{15, 10}, 16, 5}, {[]int{18, 12}, 4, 3}, {[]int{3, 5}, 8, 1}, {[]int{7}, 0, 7}, {[]int{7, 7}, 5, 1}} {
		if got := largestSegment(c.counts, c.base); got != c.want {
			t.Errorf("largestSegment(%v, %d) = %d, want %d", c.counts, c.base, got, c.want)
		}
	}
}
