package fabric

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/railmap/railmap/topology"
)

// sniffBytes is how much of an input decides what it is.
const sniffBytes = 16 << 10

// Read reads a fabric in any form that this package knows and tells them apart by content, gzip or plain: a FabricReport
// document, ibnetdiscover (plain, -p), iblinkinfo (plain, -l), a static file, a Kubernetes node list (with the preset that its
// labels suggest). Name stands in messages.
func Read(r io.Reader, name string) (*topology.FabricReport, error) {
	br, err := plain(r, name)
	if err != nil {
		return nil, err
	}
	head, err := br.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case isDocument(head):
		report := &topology.FabricReport{}
		if err := topology.Read(br, name, report); err != nil {
			return nil, err
		}
		return report, nil
	case isStatic(head):
		return Static(br, name)
	case isNodeList(head):
		return Labels(br, name, AutoPreset)
	case looksLikeLinkInfo(head):
		return ParseIblinkinfo(br, name)
	case looksLikePorts(head):
		return ParsePorts(br, name)
	}
	return ParseIbnetdiscover(br, name)
}

// isStatic looks for our own YAML: its kind, or one of its two lists at the beginning of a line.
func isStatic(head []byte) bool {
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("switches:")) || bytes.HasPrefix(line, []byte("hosts:")) ||
			bytes.HasPrefix(line, []byte("kind:")) && bytes.Contains(line, []byte(KindStaticFabric)) {
			return true
		}
	}
	return false
}

func isNodeList(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && (bytes.Contains(head, []byte(`"items"`)) || bytes.Contains(head, []byte(`"Node"`)))
}

// firstLine gives the first line that is no comment.
func firstLine(head []byte) (line []byte) {
	for len(head) > 0 {
		line, head, _ = bytes.Cut(head, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

func looksLikeLinkInfo(head []byte) bool {
	return bytes.Contains(head, []byte("==(")) && bytes.Contains(head, []byte(")==>")) || bytes.Contains(head, []byte(" VL_Stall:"))
}

func looksLikePorts(head []byte) bool {
	line := firstLine(head)
	if len(line) < 3 || line[2] != ' ' {
		return false
	}
	_, _, _, guid, _, ok := portsEnd(line)
	return ok && guid != 0
}

// plain unpacks gzip.
func plain(r io.Reader, name string) (*bufio.Reader, error) {
	br := bufio.NewReaderSize(r, sniffBytes)
	if magic, _ := br.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return bufio.NewReaderSize(zr, sniffBytes), nil
	}
	return br, nil
}

func isDocument(head []byte) bool {
	return bytes.Contains(head, []byte("apiVersion")) && bytes.Contains(head, []byte(topology.KindFabricReport))
}
