package bench

import "testing"

// TestLendSmall: lending by railmap keeps as much of the largest pod as taking nodes by name, and more whole leaves.
func TestLendSmall(t *testing.T) {
	rows, err := Lend([]float64{.2}, []uint64{1, 2}, .9)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]LendRow{}
	for _, r := range rows {
		by[r.Policy] = r
	}
	ours, name := by["railmap"], by["first-by-name"]
	if ours.LargestPod < name.LargestPod || ours.LeafGangs32 <= name.LeafGangs32 {
		t.Errorf("railmap %+v\nfirst by name %+v", ours, name)
	}
}
