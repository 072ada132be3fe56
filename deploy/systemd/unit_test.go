package systemd

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestUnitIsAccepted asks systemd itself. It complains about a program that is not installed, which is no fault of the unit.
func TestUnitIsAccepted(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("systemd-analyze is missing: install the package systemd")
		}
		t.Skip("systemd-analyze is not installed")
	}
	out, _ := exec.CommandContext(t.Context(), tool, "verify", "railmap-probe.service").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "railmap-probe.service") && !strings.Contains(line, "is not executable") {
			t.Error(strings.TrimSpace(line))
		}
	}
}
