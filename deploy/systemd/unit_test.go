package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func analyze(t *testing.T, args ...string) string {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("systemd-analyze is missing: install the package systemd")
		}
		t.Skip("systemd-analyze is not installed")
	}
	out, _ := exec.CommandContext(t.Context(), tool, args...).CombinedOutput() // it judges in words too
	return string(out)
}

// TestUnitIsAccepted asks systemd itself. It complains about a program that is not installed, which is no fault of the unit.
func TestUnitIsAccepted(t *testing.T) {
	units, err := filepath.Glob("*.service")
	if err != nil || len(units) < 2 {
		t.Fatal("units are missing", units, err)
	}
	for _, unit := range units {
		for line := range strings.Lines(analyze(t, "verify", unit)) {
			if strings.Contains(line, unit) && !strings.Contains(line, "is not executable") {
				t.Error(strings.TrimSpace(line))
			}
		}
	}
}

// exposure reads "Overall exposure level for x.service: 1.2 OK".
var exposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

// TestUnitIsHardened holds the units to a score: 0 is nothing to lose, 10 is everything open. The probe needs devices and root.
func TestUnitIsHardened(t *testing.T) {
	for unit, most := range map[string]float64{"railmap-server.service": 1.5} {
		out := analyze(t, "security", "--offline=true", unit)
		m := exposure.FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("%s: no score in %s", unit, out)
		}
		score, err := strconv.ParseFloat(m[1], 64)
		if err != nil || score > most {
			t.Errorf("%s: exposure %s, want at most %.1f\n%s", unit, m[1], most, out)
		}
	}
}
