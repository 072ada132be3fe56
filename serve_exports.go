package main

import (
	"io"
	"os"
	"time"

	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// liveExports are the targets that the server renders from its current map, with what their commands do when no flag is given.
func liveExports(now func() time.Time) map[string]func(*topology.Topology) ([]server.File, error) {
	quiet := &env{stdin: eofReader{}, stdout: io.Discard, stderr: io.Discard, now: now}
	out := map[string]func(*topology.Topology) ([]server.File, error){}
	for _, target := range allTargets() {
		out[target] = func(t *topology.Topology) ([]server.File, error) {
			o := exportAllOptions{plugin: string(slurm.TreeKind)}
			o.out = os.DevNull // no folder: there are no earlier files to compare with
			files, err := o.render(quiet, t, target)
			if err != nil {
				return nil, err
			}
			list := []server.File{}
			for _, f := range files {
				list = append(list, server.File{Name: f.Name, Data: string(f.Data)})
			}
			return list, nil
		}
	}
	return out
}

// eofReader is an empty standard input.
type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

// placerOptions are those of a map: NCCL's model predicts.
func placerOptions(t *topology.Topology) (placer.Options, error) {
	predict, err := ncclPredictor(t, nil)
	return placer.Options{Predict: predict}, err
}
