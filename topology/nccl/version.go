package nccl

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is an NCCL 2 release: 2.Minor.Patch. The zero value means the newest release that the package knows.
type Version struct {
	Minor int `json:"minor"`
	Patch int `json:"patch"`
}

// OldestVersion and NewestVersion bound the releases whose rules the package knows.
var (
	OldestVersion = Version{27, 3}
	NewestVersion = Version{30, 7}
)

// lastPatch is the last release of each minor version: "2.28" means 2.28.9.
var lastPatch = map[int]int{27: 7, 28: 9, 29: 7, 30: 7}

// ParseVersion reads "2.30.7", "2.30.7-1", "v2.30.7-1" or "2.30" (the last release of that line); "" is the newest.
func ParseVersion(s string) (Version, error) {
	if s == "" {
		return NewestVersion, nil
	}
	bad := fmt.Errorf("NCCL version %q: must look like \"2.30\" or \"2.30.7\", from %v to %v", s, OldestVersion, NewestVersion)
	head, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	part := strings.Split(head, ".")
	if len(part) < 2 || len(part) > 3 || part[0] != "2" {
		return Version{}, bad
	}
	minor, err := strconv.Atoi(part[1])
	if err != nil {
		return Version{}, bad
	}
	patch, known := lastPatch[minor]
	if !known {
		return Version{}, bad
	}
	if len(part) == 3 {
		if patch, err = strconv.Atoi(part[2]); err != nil || patch < 0 {
			return Version{}, bad
		}
	}
	v := Version{minor, patch}
	if !v.AtLeast(OldestVersion.Minor, OldestVersion.Patch) || v.AtLeast(NewestVersion.Minor, NewestVersion.Patch+1) {
		return Version{}, bad
	}
	return v, nil
}

// AtLeast tells whether v is 2.minor.patch or newer.
func (v Version) AtLeast(minor, patch int) bool {
	if v == (Version{}) {
		v = NewestVersion
	}
	return v.Minor > minor || v.Minor == minor && v.Patch >= patch
}

// String prints "2.30.7".
func (v Version) String() string {
	if v == (Version{}) {
		v = NewestVersion
	}
	return fmt.Sprintf("2.%d.%d", v.Minor, v.Patch)
}
