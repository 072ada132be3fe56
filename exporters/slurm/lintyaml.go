package slurm

import "github.com/railmap/railmap/exporters"

// lintYAML checks a topology.yaml entry by entry, then the entries against each other.
func lintYAML(rep *exporters.Problems, file []byte, o LintOptions) {
	if !o.Version.IsZero() && o.Version.Before(v2505) {
		rep.Errorf(0, "version", "topology.yaml needs Slurm 25.05 or newer, not %s", o.Version)
	}
	entries, problems := ParseYAML(file, o.Version)
	*rep = append(*rep, problems...)
	if exporters.Refused(problems) {
		return
	}
	if o.Version.IsZero() {
		o.Version = v2505 // the oldest release that reads the file
	}
	defaults, names := 0, make(map[string]int, len(entries))
	for _, e := range entries {
		if bad := validName(e.Name); bad != "" {
			rep.Errorf(e.Line, "topology-name", "topology name %q %s", clip(e.Name), bad)
		}
		if before, ok := names[e.Name]; ok {
			rep.Errorf(e.Line, "topology-twice", "topology %s is already defined in line %d", e.Name, before)
		}
		names[e.Name] = e.Line
		if e.Default {
			defaults++
		}
		switch e.Plugin {
		case TreeKind:
			lintTree(rep, e.Config.Switches, o)
		case BlockKind:
			lintBlocks(rep, e.Config, o)
		case ringKind, torusKind:
			if o.Version.Before(v2605) {
				rep.Errorf(e.Line, "version", "topology %s: %s needs Slurm 26.05 or newer, not %s", e.Name, e.Plugin, o.Version)
			}
		}
	}
	if defaults != 1 {
		rep.Errorf(0, "default", "%d topologies have cluster_default: true: must be exactly one", defaults)
	}
}
