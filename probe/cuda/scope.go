package cuda

import (
	"errors"
	"slices"
)

// scope frees what was taken, in reverse order, on every path: each successful allocation adds its own undoing.
type scope struct{ undo []func() error }

func (s *scope) add(undo func() error) { s.undo = append(s.undo, undo) }

// close undoes everything, also when some of it fails.
func (s *scope) close() error {
	var errs []error
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo())
	}
	s.undo = nil
	return errors.Join(errs...)
}
