package kubernetes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

var (
	digits  = regexp.MustCompile(`[0-9]+`)
	guidRun = regexp.MustCompile(`(?i)[0-9a-f]{12}`)
)

// levelValues gives the label value of each group name of one level. Where text order is not the order of the numbers in the
// names, the numbers are padded with zeros: schedulers sort values as text, and leaf-10 must not stand before leaf-2. Two
// names with one value are an error.
func levelValues(names []string) (map[string]string, error) {
	values := make(map[string]string, len(names))
	padded := padNumbers(names)
	for i, name := range names {
		values[name] = labelValue(padded[i])
	}
	if sameValue(values) != "" {
		for _, name := range names {
			values[name] = labelValue(name)
		}
	}
	if twice := sameValue(values); twice != "" {
		return nil, fmt.Errorf("two groups have the label value %q: must have names that differ as label values", twice)
	}
	return values, nil
}

// sameValue names a value that stands for two names, the smallest one.
func sameValue(values map[string]string) string {
	seen := make(map[string]bool, len(values))
	var twice []string
	for _, v := range values {
		if seen[v] {
			twice = append(twice, v)
		}
		seen[v] = true
	}
	slices.Sort(twice)
	if len(twice) == 0 {
		return ""
	}
	return twice[0]
}

// padNumbers pads the numbers of names that are alike but for their numbers to one width, if text order needs it. GUIDs, whose
// digits are no ordinals, stay.
func padNumbers(names []string) []string {
	if textOrder(names) {
		return names
	}
	width := map[string][]int{} // by the name with its numbers cut out
	shapes := make([]string, len(names))
	for i, name := range names {
		if guidRun.MatchString(name) {
			continue
		}
		shapes[i] = digits.ReplaceAllString(name, "#")
		for r, run := range digits.FindAllString(name, -1) {
			if r == len(width[shapes[i]]) {
				width[shapes[i]] = append(width[shapes[i]], 0)
			}
			width[shapes[i]][r] = max(width[shapes[i]][r], len(run))
		}
	}
	out := slices.Clone(names)
	for i, name := range names {
		r := -1
		if shapes[i] == "" {
			continue
		}
		out[i] = digits.ReplaceAllStringFunc(name, func(run string) string {
			r++
			return strings.Repeat("0", width[shapes[i]][r]-len(run)) + run
		})
	}
	return out
}

// textOrder tells whether sorting names as text gives the order of their numbers.
func textOrder(names []string) bool {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, topology.CompareNames)
	return slices.IsSorted(sorted)
}
