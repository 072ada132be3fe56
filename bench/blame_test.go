package bench

import "testing"

// The promise of the search for culprits, on fewer cases than "railmap bench blame" draws.
func TestBlame(t *testing.T) {
	rows, err := Blame(BlameOptions{Cases: 120, Healthy: 40, Seed: 3, Noise: .03})
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]float64{"single": .99, "two": .95, "healthy": 1}
	for _, r := range rows {
		t.Logf("%-9s %4d cases, first right %.4f, all right %.4f %s", r.Faults, r.Cases, r.FirstRight, r.AllRight, r.Wrong)
		if want, ok := least[r.Faults]; ok && r.FirstRight < want {
			t.Errorf("%s: first culprit right in %.4f, want %.2f; %s", r.Faults, r.FirstRight, want, r.Wrong)
		}
	}
}
