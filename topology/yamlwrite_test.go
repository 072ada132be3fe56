package topology

import (
	"bytes"
	"testing"
	"time"
)

// Long documents are written piece by piece, yet byte for byte as the encoder writes them whole.
func TestYAMLPieces(t *testing.T) {
	spec, err := ParseSynthSpec("core:1 pod:2 leaf:10 node:16 rail:2")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1, 0).UTC()
	report.Time, report.Source = &now, "test: \"x\""
	report.Findings = []Finding{{Code: "a", Severity: Info, Subject: "b", Message: "- c: #d"}}
	m, err := Build(Input{Fabrics: []*FabricReport{report}}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Devices) <= yamlChunk || len(m.Nodes) <= yamlChunk {
		t.Fatalf("%d devices and %d nodes do not make more than one piece", len(report.Devices), len(m.Nodes))
	}
	for _, doc := range []Document{report, m, &FabricReport{Header: report.Header}, &NodeReport{Node: "n"}} {
		var want, got bytes.Buffer
		if err := encodeYAML(&want, doc); err != nil {
			t.Fatal(err)
		}
		if err := Write(&got, doc, YAML); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Errorf("%s: pieces differ from the whole", doc.KindName())
		}
	}
}
