package probe

import "slices"

// Match is a pair of a round.
type Match struct{ A, B int }

// Rounds pairs n things so that everyone meets everyone once and nobody stands twice in a round (the circle method): n-1
// rounds when n is even, n when it is odd, each sorted.
func Rounds(n int) [][]Match {
	size := n + n%2
	var rounds [][]Match
	for round := range size - 1 {
		var matches []Match
		for i := range size / 2 {
			a, b := (round+i)%(size-1), (round+size-1-i)%(size-1)
			if i == 0 {
				b = size - 1
			}
			if a < n && b < n {
				matches = append(matches, Match{min(a, b), max(a, b)})
			}
		}
		slices.SortFunc(matches, func(x, y Match) int { return x.A - y.A })
		rounds = append(rounds, matches)
	}
	return rounds
}
