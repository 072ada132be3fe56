package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is what this binary knows of its origin.
type versionInfo struct {
	Version string `json:"version" yaml:"version"`
	Commit  string `json:"commit,omitempty" yaml:"commit,omitempty"`
	Go      string `json:"go" yaml:"go"`
	Built   string `json:"built,omitempty" yaml:"built,omitempty"` // time of the commit: builds are reproducible
}

func newVersionCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if done, err := out.document(e, v); done {
				return err
			}
			t := newTable("VERSION", "COMMIT", "GO", "BUILT")
			t.add(v.Version, v.Commit, v.Go, v.Built)
			return t.write(e.stdout, &out)
		},
	}
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

// toolVersion is the version as documents carry it.
func toolVersion() string { return readVersion().Version }

// readVersion takes what the Go linker stamped from version control.
func readVersion() versionInfo {
	v := versionInfo{Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Built = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	if v.Commit != "" {
		v.Commit = fmt.Sprintf("%.12s%s", v.Commit, dirty)
	}
	return v
}
