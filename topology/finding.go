package topology

import (
	"cmp"
	"slices"
)

// Severity says how much a finding matters.
type Severity string

// Severities, from a note to something that makes a node or the map unusable.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Finding is one thing an operator should look at. Code is stable and listed in the reference; Subject names the node, NIC,
// switch or cable ("node0007/mlx5_7", "leaf2:40"); Message says what is wrong; Remedy says what to do next.
type Finding struct {
	Code     string   `json:"code" yaml:"code"`
	Severity Severity `json:"severity" yaml:"severity"`
	Subject  string   `json:"subject" yaml:"subject"`
	Message  string   `json:"message" yaml:"message"`
	Remedy   string   `json:"remedy,omitempty" yaml:"remedy,omitempty"`
}

// SortFindings orders findings by severity (worst first), code, subject and message, and drops exact repeats.
func SortFindings(f []Finding) []Finding {
	rank := map[Severity]int{Error: 0, Warning: 1, Info: 2}
	slices.SortFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.Code, b.Code),
			CompareNames(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(f)
}
