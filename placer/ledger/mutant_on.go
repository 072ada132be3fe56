//go:build mutant

package ledger

import "os"

// mutant is the fault that the tests are to catch.
var mutant = os.Getenv("RAILMAP_MUTANT")
