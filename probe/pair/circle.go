package pair

// circle pairs n players so that each meets each other once, and nobody plays twice in a round: n-1 rounds when n is even,
// n when it is odd (one rests each time). No schedule is shorter, because a round holds at most n/2 of the n(n-1)/2 pairs.
//
//	fix the last player, turn the others by one seat a round, pair opposite seats:
//
//	  0 1 2        5 0 1
//	  5 4 3   ->   4 3 2    with the fixed player standing for one seat
func circle(n int) [][][2]int {
	if n < 2 {
		return nil
	}
	seats := n + n%2 // an odd number gets an empty seat
	rounds := make([][][2]int, 0, seats-1)
	flat := make([][2]int, 0, n*(n-1)/2)
	for r := range seats - 1 {
		first := len(flat)
		for k := range seats / 2 {
			x, y := (r+k)%(seats-1), (r+seats-1-k)%(seats-1)
			if k == 0 {
				y = seats - 1
			}
			if x < n && y < n {
				flat = append(flat, [2]int{min(x, y), max(x, y)})
			}
		}
		rounds = append(rounds, flat[first:len(flat):len(flat)])
	}
	return rounds
}
