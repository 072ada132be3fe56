package pbs

import (
	_ "embed" // the hook is a file of its own, so that Python tools read it
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// Names of the files that Hook renders, and of the hook itself.
const (
	HookName     = "railmap_hook.py"
	HookQmgrName = "hook.qmgr"
	hookObject   = "railmap"
)

//go:embed railmap_hook.py
var hookSource string

// Hook renders the MOM hook that publishes the measured values of a host from a feature file on it, and the qmgr lines that
// install it (once, as root on the server, in the folder of the files).
func Hook(featureFile string) ([]exporters.File, error) {
	if !strings.HasPrefix(featureFile, "/") || strings.ContainsAny(featureFile, "\"\\\n\r@") {
		return nil, fmt.Errorf("feature file %q: must be an absolute path without quotes and backslashes", featureFile)
	}
	qmgr := "# Written by railmap. Load it once as root on the server: qmgr < " + HookQmgrName + "\n" +
		"create hook " + hookObject + "\n" +
		"set hook " + hookObject + " event = \"exechost_startup,exechost_periodic\"\n" +
		"set hook " + hookObject + " freq = 60\n" +
		"import hook " + hookObject + " application/x-python default " + HookName + "\n"
	return []exporters.File{
		{Name: HookName, Data: []byte(strings.Replace(hookSource, "@FILE@", featureFile, 1))},
		{Name: HookQmgrName, Data: []byte(qmgr)},
	}, nil
}
