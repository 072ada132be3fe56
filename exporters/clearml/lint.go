package clearml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// MaxBytes bounds a file that is read.
const MaxBytes = 64 << 20

// Lint checks queues.json against the fields of the server's schema (queues.create, queues.add_or_update_metadata) and for what
// the server takes although it helps nobody: two queues of one name, a queue without railmap's tag.
func Lint(data []byte) []exporters.Problem {
	var p exporters.Problems
	if len(data) > MaxBytes {
		p.Errorf(0, "too-large", "the file has %d bytes: must have at most %d", len(data), MaxBytes)
		return p
	}
	var file queuesFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		line := 1 + bytes.Count(data[:min(dec.InputOffset(), int64(len(data)))], []byte("\n"))
		p.Errorf(line, "schema", "%s", strings.TrimPrefix(err.Error(), "json: "))
		return p
	}
	if dec.More() {
		p.Errorf(0, "schema", "the file holds more after the document: must hold one")
	}
	if len(file.Queues) == 0 {
		p.Errorf(0, "empty", "the file has no queues: must have at least one")
	}
	seen := map[string]bool{}
	for i, q := range file.Queues {
		at := fmt.Sprintf("queues[%d]", i)
		if len(strings.TrimSpace(q.Create.Name)) < 3 {
			p.Errorf(0, "schema", "%s: name %q: must have at least 3 characters", at, q.Create.Name)
		}
		if seen[q.Create.Name] {
			p.Errorf(0, "queue-repeated", "%s: queue %s: must stand once: the server would make two of one name", at, q.Create.Name)
		}
		seen[q.Create.Name] = true
		if !slices.Contains(q.Create.Tags, "railmap") {
			p.Warnf(0, "tag-missing", "%s: queue %s: has no tag railmap: nobody can tell it from other queues", at, q.Create.Name)
		}
		keys := map[string]bool{}
		for _, m := range q.Metadata {
			if m.Key == "" || m.Type == "" || keys[m.Key] {
				p.Errorf(0, "schema", "%s: metadata %q of type %q: must have a key that stands once, and a type", at, m.Key, m.Type)
			}
			keys[m.Key] = true
		}
	}
	return p.Sorted()
}
