package topology

import "strings"

// CompareNames orders names as people and Slurm do: digit runs by value, so node9 stands before node10; equal values with
// more padding come first ("n01" before "n1"). It is a total order: only equal strings compare as 0.
func CompareNames(a, b string) int {
	i, j := 0, 0
	pad := 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			si, sj := i, j
			for i < len(a) && isDigit(a[i]) {
				i++
			}
			for j < len(b) && isDigit(b[j]) {
				j++
			}
			na, nb := strings.TrimLeft(a[si:i], "0"), strings.TrimLeft(b[sj:j], "0")
			if len(na) != len(nb) {
				return sign(len(na) - len(nb))
			}
			if c := strings.Compare(na, nb); c != 0 {
				return c
			}
			if pad == 0 {
				pad = sign((j - sj) - (i - si))
			}
			continue
		}
		if a[i] != b[j] {
			return sign(int(a[i]) - int(b[j]))
		}
		i++
		j++
	}
	if c := sign((len(a) - i) - (len(b) - j)); c != 0 {
		return c
	}
	return pad
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
