package topology

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxDocumentBytes bounds one document after decompression.
const MaxDocumentBytes = 1 << 30

// Document is what every kind offers to the codec.
type Document interface {
	// Validate names every field that is wrong, joined into one error.
	Validate() error
	// KindName is the kind that the document must carry.
	KindName() string
	header() *Header
}

// ReadFile reads one document from a file; "-" is standard input. See Read.
func ReadFile(path string, doc Document) error {
	if path == "-" {
		return Read(os.Stdin, "standard input", doc)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return Read(f, path, doc)
}

// Read decodes one document, JSON or YAML, gzip or plain: the content decides. Unknown fields, a second document, a wrong
// kind and whatever Validate refuses are errors that name the place. Name is used in messages.
func Read(r io.Reader, name string, doc Document) error {
	data, err := readAll(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := decode(data, name, doc); err != nil {
		if kind, kindErr := KindOf(data); kindErr == nil && kind != doc.KindName() {
			return fmt.Errorf("%s: kind is %s: must be %s here", name, kind, doc.KindName()) // not every field that differs
		}
		return err
	}
	h := doc.header()
	if h.APIVersion != APIVersion {
		return fmt.Errorf("%s: apiVersion is %q: must be %q", name, h.APIVersion, APIVersion)
	}
	if h.Kind != doc.KindName() {
		return fmt.Errorf("%s: kind is %q: must be %s here", name, h.Kind, doc.KindName())
	}
	if err := doc.Validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readAll(r io.Reader) ([]byte, error) {
	br := bufio.NewReader(r)
	if magic, _ := br.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		defer zr.Close()
		br = bufio.NewReader(zr)
	}
	data, err := io.ReadAll(io.LimitReader(br, MaxDocumentBytes+1))
	if err == nil && len(data) > MaxDocumentBytes {
		err = fmt.Errorf("document is larger than %d bytes", MaxDocumentBytes)
	}
	return data, err
}

func decode(data []byte, name string, doc Document) error {
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	if len(trimmed) == 0 {
		return fmt.Errorf("%s: empty: must hold a %s document", name, doc.KindName())
	}
	if trimmed[0] == '{' {
		return decodeJSON(data, name, doc)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(doc); err != nil {
		return fmt.Errorf("%s: %s", name, yamlMessage(err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: holds a second document: must hold one", name)
	}
	return nil
}

func decodeJSON(data []byte, name string, doc Document) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(doc); err != nil {
		line := 1 + bytes.Count(data[:min(dec.InputOffset(), int64(len(data)))], []byte("\n"))
		return fmt.Errorf("%s:%d: %s", name, line, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: holds more after the document: must hold one", name)
	}
	return nil
}

// yamlMessage drops the decoder's own prefixes and Go type names, which mean nothing to a user.
func yamlMessage(err error) string {
	var te *yaml.TypeError
	msg := err.Error()
	if errors.As(err, &te) {
		msg = strings.Join(te.Errors, "; ")
	}
	msg = strings.TrimPrefix(msg, "yaml: ")
	return strings.ReplaceAll(msg, "topology.", "")
}

// Format is how a document is written.
type Format string

// Formats: YAML for people, JSON for size and speed.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// FormatOf tells the format by file extension: .json and .json.gz are JSON, all else YAML.
func FormatOf(path string) Format {
	if strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".json") {
		return JSON
	}
	return YAML
}

// Write encodes a document. The same document gives the same bytes.
func Write(w io.Writer, doc any, f Format) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	if f == JSON {
		enc := json.NewEncoder(bw)
		enc.SetIndent("", " ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(doc); err != nil {
			return err
		}
		return bw.Flush()
	}
	if err := writeYAML(bw, doc); err != nil {
		return err
	}
	return bw.Flush()
}

func (h *Header) header() *Header { return h }

// KindName names the kind.
func (*NodeReport) KindName() string { return KindNodeReport }

// KindName names the kind.
func (*PairReport) KindName() string { return KindPairReport }

// KindName names the kind.
func (*FabricReport) KindName() string { return KindFabricReport }

// KindName names the kind.
func (*Topology) KindName() string { return KindTopology }

// KindOf reads the kind of a document, JSON or YAML, without decoding the rest into a type. gzip is unpacked.
func KindOf(data []byte) (string, error) {
	plain, err := readAll(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	var h struct {
		APIVersion string `json:"apiVersion" yaml:"apiVersion"`
		Kind       string `json:"kind" yaml:"kind"`
	}
	if trimmed := bytes.TrimLeft(plain, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
		err = json.Unmarshal(plain, &h)
	} else {
		err = yaml.Unmarshal(plain, &h)
	}
	if err != nil {
		return "", fmt.Errorf("not a JSON or YAML document: %w", err)
	}
	if h.Kind == "" {
		return "", errors.New("kind is missing: must be a railmap document")
	}
	return h.Kind, nil
}
