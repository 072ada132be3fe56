package topology

import (
	"bytes"
	"io"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// yamlChunk is how many elements of a list are encoded at one time.
const yamlChunk = 256

// writeYAML gives the bytes that yaml.Encoder gives, but encodes long lists of a document piece by piece: the encoder keeps
// every event of a document until its end, 12 GB for the map of a large fabric.
func writeYAML(w io.Writer, doc any) error {
	v := reflect.Indirect(reflect.ValueOf(doc))
	if v.Kind() != reflect.Struct || !hasLongList(v) {
		return encodeYAML(w, doc)
	}
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		empty := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
		var err error
		switch {
		case opts == "inline":
			err = encodeYAML(w, value.Interface())
		case empty && strings.Contains(opts, "omitempty"):
		case value.Kind() == reflect.Slice && value.Len() > yamlChunk:
			err = writeYAMLList(w, name, value)
		default:
			err = encodeYAML(w, map[string]any{name: value.Interface()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hasLongList(v reflect.Value) bool {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() > yamlChunk {
			return true
		}
	}
	return false
}

// writeYAMLList writes "name:" once and then the elements of all pieces below it.
func writeYAMLList(w io.Writer, name string, list reflect.Value) error {
	var buf bytes.Buffer
	for i := 0; i < list.Len(); i += yamlChunk {
		buf.Reset()
		piece := list.Slice(i, min(i+yamlChunk, list.Len()))
		if err := encodeYAML(&buf, map[string]any{name: piece.Interface()}); err != nil {
			return err
		}
		out := buf.Bytes()
		if i > 0 {
			out = out[bytes.IndexByte(out, '\n')+1:]
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

func encodeYAML(w io.Writer, doc any) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return enc.Close()
}
