package ledger

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or one of the programs that a test starts as a process of its own. Random histories: 1,000.
func TestMain(m *testing.M) {
	if path := os.Getenv("RAILMAP_TEST_CRASH"); path != "" {
		crashTraffic(path)
		return
	}
	flag.Parse()
	explicit := false
	flag.Visit(func(f *flag.Flag) { explicit = explicit || f.Name == "rapid.checks" })
	if !explicit {
		flag.Set("rapid.checks", "1000")
	}
	goleak.VerifyTestMain(m)
}
