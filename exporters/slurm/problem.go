package slurm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// asError joins the errors among problems, at most ten of them, under the name of the file.
func asError(file string, problems []exporters.Problem) error {
	var lines []string
	for _, p := range problems {
		if p.Severity == topology.Error {
			lines = append(lines, p.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n))
	}
	return errors.New(file + ": must not be used:\n  " + strings.Join(lines, "\n  "))
}
