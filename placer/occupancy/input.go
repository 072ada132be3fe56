package occupancy

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of what is read.
const (
	MaxBytes      = 4 << 30  // one input after decompression; 100,000 Kubernetes nodes are 1.2 GB
	MaxEntryBytes = 64 << 20 // one node, job or pod
	MaxNodes      = 1 << 20
	MaxJobs       = 1 << 20 // jobs, or pods

	maxJobNodes = 1 << 22 // nodes of all jobs together
	maxName     = 253     // bytes of a name (RFC 1123)
	sniffBytes  = 4096
)

// input is one source being read: entry by entry, so that its size does not matter.
type input struct {
	name string
	rest *bufio.Reader
	dec  *json.Decoder
	size *meter

	entered bool // the opening of a value was read, see enter
	opened  json.Delim
}

func openInput(s Source) (*input, error) {
	br := bufio.NewReaderSize(s.Reader, 1<<16)
	if magic, _ := br.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		br = bufio.NewReaderSize(zr, 1<<16)
	}
	in := &input{name: s.Name, rest: br, size: &meter{r: br}}
	in.dec = json.NewDecoder(in.size)
	return in, nil
}

// begin enters the next JSON object; more is false at the end of the input.
func (in *input) begin() (more bool, err error) {
	in.mark()
	t, err := in.dec.Token()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil && t != json.Delim('{') {
		err = fmt.Errorf("must be %s", readable)
	}
	if err != nil {
		return false, in.at(err)
	}
	return true, nil
}

// mark says that all before was taken: the limit of one entry counts from here.
func (in *input) mark() { in.size.marked = in.size.total }

// at gives an error its place.
func (in *input) at(err error) error {
	offset := in.dec.InputOffset()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		offset = in.size.total
		err = errors.New("the input ends inside the document")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%s is a JSON %s: must be another type", cmp.Or(wrong.Field, "value"), wrong.Value)
	}
	return fmt.Errorf("%s:%d: %s", in.name, in.size.lineAt(offset), strings.TrimPrefix(err.Error(), "json: "))
}

// enter reads what opens the next value: "[" or "{", or 0 for null. The next list starts behind it.
func (in *input) enter() error {
	t, err := in.dec.Token()
	if err != nil {
		return err
	}
	in.entered = true
	if t == nil {
		in.opened = 0
		return nil
	}
	open, ok := t.(json.Delim)
	if !ok {
		return fmt.Errorf("%s: must be a list or an object", clip(fmt.Sprint(t), 40))
	}
	in.opened = open
	return nil
}

// list reads the elements of an array, or of an object when open is "{": each is called with its key or position. Null has none.
func (in *input) list(what string, open json.Delim, each func(key string) error) error {
	if !in.entered {
		if err := in.enter(); err != nil {
			return err
		}
	}
	in.entered = false
	if in.opened == 0 {
		return nil
	}
	if in.opened != open {
		return fmt.Errorf("%s starts with %q: must start with %q", what, in.opened.String(), open.String())
	}
	for i := 0; in.dec.More(); i++ {
		key := fmt.Sprintf("%s[%d]", what, i)
		if open == '{' {
			k, err := in.dec.Token()
			if err != nil {
				return err
			}
			key = k.(string)
		}
		if err := each(key); err != nil {
			return err
		}
		in.mark()
	}
	_, err := in.dec.Token()
	return err
}

// meter counts what passes, remembers where lines begin, and holds the limits.
type meter struct {
	r      io.Reader
	total  int64
	marked int64
	lines  []int64 // offsets of line ends; only the first 1<<20 are kept
}

// Read refuses to pass more than the limits.
func (m *meter) Read(p []byte) (int, error) {
	if m.total-m.marked > MaxEntryBytes {
		return 0, fmt.Errorf("one entry is larger than %d bytes: must be smaller", MaxEntryBytes)
	}
	if m.total > MaxBytes {
		return 0, fmt.Errorf("larger than %d bytes: must be smaller", int64(MaxBytes))
	}
	n, err := m.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' && len(m.lines) < 1<<20 {
			m.lines = append(m.lines, m.total+int64(i))
		}
	}
	m.total += int64(n)
	return n, err
}

func (m *meter) lineAt(offset int64) int {
	i, _ := slices.BinarySearch(m.lines, offset)
	return i + 1
}

func startsJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[')
}

// looksYAML tells whether one of the first lines is a key of a document of ours; any other text is not for the YAML decoder.
func looksYAML(head []byte) bool {
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("apiVersion:")) || bytes.HasPrefix(line, []byte("kind:")) {
			return true
		}
	}
	return false
}
