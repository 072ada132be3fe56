package lsf

import (
	"errors"
	"fmt"
	"strings"
)

// Preferences of a job among compute units.
const (
	PreferConfig   = "config"   // in the order of the file: ring order
	PreferMinAvail = "minavail" // the units with the least free slots first
	PreferMaxAvail = "maxavail" // the units with the most free slots first
	PreferBestFit  = "bestfit"  // as few units as possible
)

// UnitRequest gives the -R argument of bsub that keeps a job in at most max units of a type (a level of the map); max 0 = no
// limit.
//
//	-R "cu[type=leaf:pref=bestfit:maxcus=2]"
func UnitRequest(level, preference string, max int) (string, error) {
	if err := checkUnit(level); err != nil {
		return "", err
	}
	switch preference {
	case PreferConfig, PreferMinAvail, PreferMaxAvail, PreferBestFit:
	default:
		return "", fmt.Errorf("preference %q: must be config, minavail, maxavail or bestfit", preference)
	}
	if max < 0 {
		return "", fmt.Errorf("at most %d units: must not be below 0", max)
	}
	limit := ""
	if max > 0 {
		limit = fmt.Sprintf(":maxcus=%d", max)
	}
	return fmt.Sprintf("-R \"cu[type=%s:pref=%s%s]\"", level, preference, limit), nil
}

// Hostfile gives the file for bsub -hostfile that pins a job to nodes with slots tasks on each, in rank order. LSF takes it
// without -n, -m, -R and -ext only.
func Hostfile(nodes []string, slots int) ([]byte, error) {
	if len(nodes) == 0 {
		return nil, errors.New("a placement must have at least one node")
	}
	if slots < 1 {
		return nil, fmt.Errorf("%d slots: must be at least 1 on each host", slots)
	}
	var b strings.Builder
	seen := make(map[string]bool, len(nodes))
	var errs []error
	for _, n := range nodes {
		errs = append(errs, checkHost(n))
		if seen[n] {
			errs = append(errs, fmt.Errorf("host %q: must stand once in a placement", n))
		}
		seen[n] = true
		fmt.Fprintf(&b, "%s %d\n", n, slots)
	}
	return []byte(b.String()), errors.Join(errs...)
}
