package topology

import "slices"

// clusterSimilar puts items into one cluster when their member sets are similar, so one missing or misplaced member changes
// nothing, while a set that touches everything joins nobody. Sets must
// be sorted and without repeats; members are below n. It returns the cluster of each item, numbered by first item.
func clusterSimilar(sets [][]int32, n int) []int32 {
	unique, of := uniqueSets(sets)
	items := make([][]int32, n) // member -> unique sets that hold it
	for u, i := range unique {
		for _, m := range sets[i] {
			items[m] = append(items[m], int32(u))
		}
	}
	root := make([]int32, len(unique))
	for u := range root {
		root[u] = int32(u)
	}
	shared := make([]int32, len(unique))
	var touched []int32
	for u, i := range unique {
		touched = touched[:0]
		for _, m := range sets[i] {
			for _, v := range items[m] {
				if v <= int32(u) {
					continue
				}
				if shared[v] == 0 {
					touched = append(touched, v)
				}
				shared[v]++
			}
		}
		for _, v := range touched {
			both := int(shared[v])
			if similar(len(sets[i]), len(sets[unique[v]]), both) {
				union(root, int32(u), v)
			}
			shared[v] = 0
		}
	}
	return numberClusters(of, root)
}

// similar sets share more than half of their union (Jaccard index > 1/2), or, when they are of about one size (below 7:4),
// more than 3/5 of the smaller: that keeps small sets together that each lack another member.
func similar(a, b, shared int) bool {
	small, large := min(a, b), max(a, b)
	return 2*shared > a+b-shared || 5*shared > 3*small && 4*large < 7*small
}

// uniqueSets folds equal sets: unique holds the first item of each distinct set, of maps items to it.
func uniqueSets(sets [][]int32) (unique []int, of []int32) {
	byHash := make(map[uint64][]int32, len(sets))
	of = make([]int32, len(sets))
	for i, s := range sets {
		h := uint64(14695981039346656037) // FNV-1a over members
		for _, m := range s {
			h = (h ^ uint64(m)) * 1099511628211
		}
		of[i] = -1
		for _, u := range byHash[h] {
			if slices.Equal(sets[unique[u]], s) {
				of[i] = u
				break
			}
		}
		if of[i] < 0 {
			of[i] = int32(len(unique))
			unique = append(unique, i)
			byHash[h] = append(byHash[h], of[i])
		}
	}
	return unique, of
}

func numberClusters(of, root []int32) []int32 {
	number := make([]int32, len(root))
	for i := range number {
		number[i] = -1
	}
	out := make([]int32, len(of))
	next := int32(0)
	for i, u := range of {
		r := findRoot(root, u)
		if number[r] < 0 {
			number[r] = next
			next++
		}
		out[i] = number[r]
	}
	return out
}

// findRoot and union are a disjoint-set forest with path halving; the smaller index becomes the root.
func findRoot(root []int32, i int32) int32 {
	for root[i] != i {
		root[i] = root[root[i]]
		i = root[i]
	}
	return i
}

func union(root []int32, a, b int32) {
	ra, rb := findRoot(root, a), findRoot(root, b)
	if ra > rb {
		ra, rb = rb, ra
	}
	root[rb] = ra
}

// sortedSet sorts s and drops repeats, in place.
func sortedSet(s []int32) []int32 {
	slices.Sort(s)
	return slices.Compact(s)
}
