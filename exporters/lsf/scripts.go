package lsf

import (
	_ "embed" // the scripts are files of their own, so that shell tools read them
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// Names of the scripts, as LSF wants them in LSF_SERVERDIR.
const (
	ElimName = "elim.railmap"
	EsubName = "esub.railmap"
)

//go:embed elim.railmap
var elimSource string

//go:embed esub.railmap
var esubSource string

// Scripts renders the elim that reports the measured bandwidth of a host from a feature file on it, and the esub that keeps jobs
// in compute units (bsub -a 'railmap(leaf,2)').
func Scripts(featureFile string) ([]exporters.File, error) {
	if !strings.HasPrefix(featureFile, "/") || strings.ContainsAny(featureFile, "\"\\\n\r$`@") {
		return nil, fmt.Errorf("feature file %q: must be an absolute path without quotes, backslashes and dollar signs", featureFile)
	}
	return []exporters.File{
		{Name: ElimName, Data: []byte(strings.Replace(elimSource, "@FILE@", featureFile, 1))},
		{Name: EsubName, Data: []byte(esubSource)},
	}, nil
}
