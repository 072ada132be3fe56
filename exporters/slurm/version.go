package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a Slurm release by its two significant numbers, e.g. 24.11. The zero value means "not known": renderers then
// write what the oldest release with the plugin reads, and the lint applies the rules of all releases together.
type Version struct {
	Year, Month int
}

// Releases at which files, keys or rules changed.
var (
	v2205 = Version{22, 5}  // the oldest release that is supported
	v2311 = Version{23, 11} // topology/block with BlockLevels, SwitchAsNodeRank, text after a bracket
	v2405 = Version{24, 5}  // BlockSizes replaces BlockLevels
	v2505 = Version{25, 5}  // topology.yaml, blocks smaller than the base
	v2511 = Version{25, 11} // BlockAsNodeRank
	v2605 = Version{26, 5}  // ring and torus3d
)

// ParseVersion reads "24.11", "24.11.5" or what slurmctld -V prints ("slurm-wlm 24.11.5"). The empty string is the zero Version.
func ParseVersion(s string) (Version, error) {
	if s == "" {
		return Version{}, nil
	}
	last := s[strings.LastIndexByte(s, ' ')+1:]
	parts := strings.Split(last, ".")
	if len(parts) >= 2 {
		year, err1 := strconv.Atoi(parts[0])
		month, err2 := strconv.Atoi(parts[1])
		v := Version{year, month}
		if err1 == nil && err2 == nil && len(parts[1]) == 2 && year < 100 && month <= 12 {
			if v.Before(v2205) {
				return Version{}, fmt.Errorf("slurm version %q: must be 22.05 or newer", s)
			}
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("slurm version %q: must look like 24.11 or 24.11.5", s)
}

// String prints "24.11"; the zero Version prints "any".
func (v Version) String() string {
	if v.IsZero() {
		return "any"
	}
	return fmt.Sprintf("%02d.%02d", v.Year, v.Month)
}

// IsZero reports whether the version is not known.
func (v Version) IsZero() bool { return v == Version{} }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return v.Year < w.Year || v.Year == w.Year && v.Month < w.Month
}

// mayBeBefore is Before for rules that bind when in doubt: an unknown version may be an old one.
func (v Version) mayBeBefore(w Version) bool { return v.IsZero() || v.Before(w) }
