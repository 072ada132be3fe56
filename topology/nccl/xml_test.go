package nccl

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignoreLines = cmpopts.IgnoreFields(Element{}, "Line")

// roundTrip writes and reads a document and compares.
func roundTrip(t *testing.T, root *Element, write func(*bytes.Buffer) error, read func(*bytes.Buffer) (*Element, error)) {
	t.Helper()
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		t.Fatal(err)
	}
	again, err := read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(root, again, ignoreLines, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("read, written and read again differs (-first +second):\n%s", d)
	}
}

func TestXMLRoundTripCorpus(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus(t, "xml").Name(), "*.xml"))
	if len(files) < 22 {
		t.Fatalf("corpus has %d files, want 22", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rootName := "system"
			if strings.Contains(string(data), "<graphs") {
				rootName = "graphs"
			}
			root, err := readElements(bytes.NewReader(data), rootName)
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, root, func(b *bytes.Buffer) error { return writeElements(b, root) },
				func(b *bytes.Buffer) (*Element, error) { return readElements(b, rootName) })
			if rootName == "graphs" {
				checkGraphRoundTrip(t, data)
				return
			}
			if _, err := ReadXML(bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkGraphRoundTrip(t *testing.T, data []byte) {
	t.Helper()
	f, err := ReadGraphXML(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := f.Write(&buf); err != nil {
		t.Fatal(err)
	}
	again, err := ReadGraphXML(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, again); d != "" {
		t.Errorf("graph file changed (-first +second):\n%s", d)
	}
}

func TestReadXMLErrors(t *testing.T) {
	long := strings.Repeat("x", 256)
	deep := strings.Repeat("<pci busid=\"0\">", 70)
	attrs := ""
	for i := range 17 {
		attrs += " a" + string(rune('a'+i)) + `="1"`
	}
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "empty: must hold a system element"},
		{"not xml", "hello", `line 1: text "hello" outside of a tag`},
		{"wrong root", "<graphs/>", "line 1: root is graphs: must be system"},
		{"second root", "<system/>\n<system/>", "line 2: second root element system"},
		{"open", "<system>\n<cpu>", "line 2: cpu is not closed"},
		{"crossed", "<system>\n<cpu>\n</system>", "line 3: end tag system closes cpu of line 2"},
		{"twice", `<system version="1" version="2"/>`, "attribute version twice"},
		{"bad number", "<system>\n<cpu numaid=\"zero\"/></system>", `line 2: cpu zero: numaid is "zero": must be a whole number`},
		{"no busid", "<system><cpu>\n<pci class=\"0x0302\"/></cpu></system>", "line 2: pci: has no busid"},
		{"bad busid", `<system><cpu><pci busid="here"/></cpu></system>`, `bus id "here": must look like`},
		{"bad latency", `<system><cpu><nic><net latency="NaN"/></nic></cpu></system>`, "latency is \"NaN\""},
		{"bad guid", `<system><cpu><nic><net guid="0xzz"/></nic></cpu></system>`, "must be hexadecimal"},
		{"long value", `<system version="` + long + `"/>`, "longer than the 255 characters"},
		{"many attributes", "<system" + attrs + "/>", "NCCL takes at most 16"},
		{"deep", "<system><cpu>" + deep, "nest deeper than 64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadXML(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestReadXMLLimit(t *testing.T) {
	big := "<system>" + strings.Repeat("<cpu/>", maxXMLElements) + "</system>"
	if _, err := ReadXML(strings.NewReader(big)); !errors.Is(err, ErrXMLLimit) {
		t.Errorf("error %v, want ErrXMLLimit", err)
	}
	if _, err := ReadXML(strings.NewReader(strings.Repeat(" ", maxXMLBytes+1))); !errors.Is(err, ErrXMLLimit) {
		t.Errorf("error %v, want ErrXMLLimit", err)
	}
}

func TestXMLCheck(t *testing.T) {
	in := `<system version="2">
<cpu numaid="0">
 <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s" link_width="16">
  <gpu dev="0" sm="90" rank="0" gdr="1" gcn="9">
   <nvlink target="0000:01:00.0" count="2" tclass="0x030200"/>
   <xgmi target="0000:02:00.0" count="1" tclass="0x038000"/>
  </gpu>
 </pci>
 <pci busid="0000:01:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="4"/>
 <nic><net name="docker0" dev="0"/></nic>
</cpu>
<cpu numaid="1" arch="x86_64"/>
<cpu numaid="2" arch="riscv" vendor="Me"/>
<nic/>
</system>`
	x, err := ReadXML(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range x.Check() {
		got[f.Code+" "+f.Subject] = string(f.Severity)
	}
	want := map[string]string{
		"nccl-xml-version system (line 1)":                    "warning",
		"nccl-xml-missing cpu 0 (line 2)":                     "error",
		"nccl-xml-link-speed pci 0000:01:00.0 (line 3)":       "warning",
		"nccl-xml-unknown-attribute gpu 0 (line 4)":           "info",
		"nccl-xml-nvlink-self nvlink 0000:01:00.0 (line 5)":   "warning",
		"nccl-xml-unknown-element xgmi 0000:02:00.0 (line 6)": "warning",
		"nccl-xml-duplicate pci 0000:01:00.0 (line 9)":        "warning",
		"nccl-xml-virtual-nic net docker0 (line 10)":          "warning",
		"nccl-xml-missing cpu 1 (line 12)":                    "error",
		"nccl-xml-bad-value cpu 2 (line 13)":                  "error",
		"nccl-xml-misplaced nic (line 14)":                    "warning",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
}

func TestReadGraphXMLErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"root", "<system/>", "root is system: must be graphs"},
		{"child", "<graphs><x/></graphs>", "must be a graph element"},
		{"missing", `<graphs><graph id="0"/></graphs>`, "has no pattern"},
		{"type", `<graphs><graph id="0" pattern="4" crossnic="0" nchannels="0" samechannels="1" typeintra="XXX"/></graphs>`, "path type \"XXX\""},
		{"count", `<graphs><graph id="0" pattern="4" crossnic="0" nchannels="1" samechannels="1" typeintra="NVL" typeinter="PIX"/></graphs>`, "nchannels is 1 and it holds 0"},
		{"dev", `<graphs><graph id="0" pattern="4" crossnic="0" nchannels="1" samechannels="1" typeintra="NVL" typeinter="PIX"><channel><gpu/></channel></graph></graphs>`, "has no dev"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadGraphXML(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzReadXML(f *testing.F) {
	f.Add([]byte(`<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci></cpu></system>`))
	f.Add([]byte("<!-- c --><system><cpu numaid=\"0x1\"/></system>"))
	f.Add([]byte("<system><a:b c:d=\"&lt;&#10;\"/></system>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ReadXML(bytes.NewReader(data))
		if err != nil {
			return
		}
		x.Check()
		var buf bytes.Buffer
		if err := x.Write(&buf); err != nil {
			t.Fatal(err)
		}
		again, err := ReadXML(&buf)
		if err != nil {
			t.Fatalf("written file does not read: %v\n%s", err, buf.String())
		}
		if d := cmp.Diff(x.Root, again.Root, ignoreLines, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round trip (-first +second):\n%s", d)
		}
	})
}

func FuzzReadGraphXML(f *testing.F) {
	f.Add([]byte(`<graphs version="1"><graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="10" speedinter="10" latencyinter="0" typeintra="SYS" typeinter="PIX" samechannels="1"><channel><net dev="0"/><gpu dev="0"/><gpu dev="0x1"/><net dev="0"/></channel></graph></graphs>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ReadGraphXML(bytes.NewReader(data))
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := g.Write(&buf); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadGraphXML(&buf); err != nil {
			t.Fatalf("written file does not read: %v\n%s", err, buf.String())
		}
	})
}
