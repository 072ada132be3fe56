package exporters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sort"
)

// RecordName is the file beside the exported ones that says what they describe and which version of railmap wrote them.
const RecordName = ".railmap.json"

// maxRecordBytes bounds the record that is read back.
const maxRecordBytes = 16 << 20

// record is the content of RecordName.
type record struct {
	Files map[string]fileRecord `json:"files"`
}

// fileRecord describes one file as it was last written.
type fileRecord struct {
	Target      string `json:"target,omitempty"`
	Nodes       int    `json:"nodes"`
	SHA256      string `json:"sha256"`
	ToolVersion string `json:"toolVersion,omitempty"`
}

// readRecord reads the record of a directory; one that is absent is empty. A damaged one is an error, because the guard
// against shrunk files would be blind without it.
func readRecord(d disk) (record, error) {
	none := record{Files: map[string]fileRecord{}}
	data, err := d.ReadFile(RecordName)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	if len(data) > maxRecordBytes {
		return none, fmt.Errorf("%s: is larger than %d bytes: must be what railmap wrote", RecordName, maxRecordBytes)
	}
	r := none
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || r.Files == nil {
		return none, fmt.Errorf("%s: must be the record that railmap wrote: restore it, or remove it to start without one", RecordName)
	}
	for name := range r.Files {
		if refuseNames([]File{{Name: name}}) != nil {
			return none, fmt.Errorf("%s: names the file %q: must be the record that railmap wrote", RecordName, name)
		}
	}
	return r, nil
}

// encode gives the same bytes for the same record: encoding/json sorts the names.
func (r record) encode() []byte {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil // a map of plain structs always encodes
	}
	return append(data, '\n')
}

// next is the record after files are written for target. A file that does not change keeps the version that wrote it.
func (r record) next(files []File, gone []string, opts WriteOptions) record {
	n := record{Files: make(map[string]fileRecord, len(r.Files)+len(files))}
	for name, f := range r.Files {
		n.Files[name] = f
	}
	for _, name := range gone {
		delete(n.Files, name)
	}
	for _, f := range files {
		now := fileRecord{Target: opts.Target, Nodes: f.Nodes, SHA256: digest(f.Data), ToolVersion: opts.ToolVersion}
		if old, ok := r.Files[f.Name]; ok && old.SHA256 == now.SHA256 {
			now.ToolVersion = old.ToolVersion
		}
		n.Files[f.Name] = now
	}
	return n
}

// gone lists, sorted, the files that were written for target before and are not among files now.
func (r record) gone(files []File, target string) []string {
	if target == "" {
		return nil
	}
	now := make(map[string]bool, len(files))
	for _, f := range files {
		now[f.Name] = true
	}
	var names []string
	for name, f := range r.Files {
		if f.Target == target && !now[name] {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// targetOf is the target for which the first known one of files was written; empty when none is known.
func (r record) targetOf(files []File) string {
	for _, f := range files {
		if old, ok := r.Files[f.Name]; ok {
			return old.Target
		}
	}
	return ""
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
