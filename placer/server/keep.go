package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// keeper holds the newest fabric, pair and occupancy documents and the generation of the map on disk, so that a server that
// was killed comes back with the map that it had, and knows what the schedulers use. Nothing is synced: after a power cut a
// document may be missing, and the next one of its source brings it back. Who holds what is in the ledger, which is synced.
type keeper struct{ dir string } // "" = nothing is kept

func openKeeper(dataDir string) (*keeper, error) {
	if dataDir == "" {
		return &keeper{}, nil
	}
	k := &keeper{filepath.Join(dataDir, "inputs")}
	return k, os.MkdirAll(k.dir, 0o700)
}

// put replaces the document of a kind and source. The file's name is a hash of both: no name from outside becomes a path.
func (k *keeper) put(kind, source string, doc topology.Document) error {
	if k.dir == "" {
		return nil
	}
	var buf bytes.Buffer
	if err := topology.Write(&buf, doc, topology.JSON); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(source))
	return replace(filepath.Join(k.dir, kind+"-"+hex.EncodeToString(sum[:8])+".json"), buf.Bytes())
}

// replace writes beside and renames: a crash leaves the old or the new file.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// restore reads every kept document into the intake. A damaged one is named and left out.
func (k *keeper) restore(in *intake) error {
	if k.dir == "" {
		return nil
	}
	files, err := os.ReadDir(k.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		kind, _, _ := strings.Cut(f.Name(), "-")
		path := filepath.Join(k.dir, f.Name())
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		switch kind {
		case topology.KindFabricReport:
			errs = append(errs, restoreTo(path, &topology.FabricReport{}, func(d *topology.FabricReport) { in.fabrics[d.Source] = d }))
		case topology.KindPairReport:
			errs = append(errs, restoreTo(path, &topology.PairReport{}, func(d *topology.PairReport) { in.pairs[d.Source] = d }))
		case topology.KindOccupancy:
			errs = append(errs, restoreTo(path, &topology.Occupancy{}, func(d *topology.Occupancy) { in.occupancy[d.Side] = d }))
		}
	}
	return errors.Join(errs...)
}

func restoreTo[D topology.Document](path string, doc D, take func(D)) error {
	if err := topology.ReadFile(path, doc); err != nil {
		return err
	}
	take(doc)
	return nil
}

// generation is the last one that was in use; 0 = none is known.
func (k *keeper) generation() uint64 {
	if k.dir == "" {
		return 0
	}
	data, err := os.ReadFile(filepath.Join(k.dir, "generation"))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 63)
	if err != nil {
		return 0
	}
	return n
}

// setGeneration remembers a generation: after a restart the next map gets a higher one, so that no ETag means two maps.
func (k *keeper) setGeneration(n uint64) error {
	if k.dir == "" {
		return nil
	}
	err := replace(filepath.Join(k.dir, "generation"), fmt.Appendln(nil, n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the folder is gone: the server is being removed
	}
	return err
}
