package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClusterSimilar(t *testing.T) {
	for _, c := range []struct {
		name string
		sets [][]int32
		want []int32
	}{
		{"none", nil, []int32{}},
		{"equal", [][]int32{{1, 2}, {1, 2}, {3}}, []int32{0, 0, 1}},
		{"one missing", [][]int32{{1, 2, 3}, {1, 2}, {1, 2, 3}}, []int32{0, 0, 0}},
		{"one swapped", [][]int32{{1, 2, 3, 9}, {1, 2, 3, 4}, {5, 6, 7, 8}, {4, 5, 6, 7, 8}}, []int32{0, 0, 1, 1}},
		{"storage touches all", [][]int32{{1, 2}, {3, 4}, {1, 2, 3, 4}}, []int32{0, 1, 2}},
		{"empty sets stay apart from others", [][]int32{{}, {1}, {}}, []int32{0, 1, 0}},
		{"exactly half is not more than half", [][]int32{{1, 2}, {2, 3}, {3, 4}}, []int32{0, 1, 2}},
		{"one missing in each of two small sets", [][]int32{{1, 2, 3}, {2, 3, 4}}, []int32{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := clusterSimilar(c.sets, 10)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}
