package fabric

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// Every form is found by its content, packed or not.
func TestReadForms(t *testing.T) {
	want := twoLevel(4, 1, 2, 1)
	var json, yaml bytes.Buffer
	if err := topology.Write(&json, want, topology.JSON); err != nil {
		t.Fatal(err)
	}
	if err := topology.Write(&yaml, want, topology.YAML); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{"ibnetdiscover": text(t, want), "json": json.String(), "yaml": yaml.String()} {
		var packed bytes.Buffer
		zw := gzip.NewWriter(&packed)
		zw.Write([]byte(in))
		zw.Close()
		for form, s := range map[string]string{"plain": in, "gzip": packed.String()} {
			if diff := gocmp.Diff(want, parse(t, s)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, form, diff)
			}
		}
		if _, err := Read(strings.NewReader(packed.String()[:packed.Len()/2]), "cut.gz"); err == nil || !strings.Contains(err.Error(), "cut.gz") {
			t.Errorf("%s, half a gzip file: error %v", name, err)
		}
	}
	if _, err := Read(strings.NewReader("\x1f\x8bnonsense"), "bad.gz"); err == nil || !strings.Contains(err.Error(), "bad.gz: gzip") {
		t.Errorf("bad gzip: error %v", err)
	}
}
