package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// placementOptions are the flags of exporters that can also write one placement in place of the map.
type placementOptions struct {
	placement string
	jobs      jobOptions
}

func (o *placementOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.placement, "placement", "", "write the job of this placement (railmap place -o json) in place of the map; -t may then be left out")
}

func (o *placementOptions) addTasks(c *cobra.Command) {
	c.Flags().IntVar(&o.jobs.tasks, "tasks-per-node", 1, "with --placement: tasks of a node")
}

// placementFile is a file that one placement gives: its name and its format in railmap place.
type placementFile struct{ name, format string }

// deliver writes the files of a placement.
func (o *placementOptions) deliver(e *env, export *exportOptions, target string, want ...placementFile) error {
	if export.out == "" {
		return usagef("--out must be given: a folder, or - for standard output")
	}
	var t *topology.Topology
	if export.topology != "" {
		var err error
		if t, err = readTopology(e, export.topology); err != nil {
			return err
		}
	}
	var p placer.Placement
	if err := readDocument(e, o.placement, &p); err != nil {
		return err
	}
	var files []exporters.File
	for _, w := range want {
		text, _, err := o.jobs.text(w.format, t, &p)
		if err != nil {
			return withCode(exitUsage, fmt.Errorf("%s: %w", w.name, err))
		}
		files = append(files, exporters.File{Name: w.name, Data: text}) // no Nodes: the next placement may be smaller
	}
	return export.deliver(e, target+"-placement", files)
}

// kubernetesPlacement lists the files of a placement for Kubernetes; the nodes of a large one are marked by a lease label.
func (o *placementOptions) kubernetesPlacement() []placementFile {
	files := []placementFile{{"affinity.yaml", formatAffinity}, {"job-patch.yaml", formatPodPatch}, {"pod-index.yaml", formatPodIndex}, {"podgroup.yaml", formatPodGroup}}
	if o.jobs.affinity.Lease != "" {
		files = append(files, placementFile{"lease-labels.yaml", formatLease})
	}
	return files
}
