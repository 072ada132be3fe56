//go:build !mutant

package ledger

// mutant names the fault that is built in: none. A build with -tags mutant reads it from RAILMAP_MUTANT, for the test that
// every fault is caught; here it is a constant, so nothing of it is in the program.
const mutant = ""
