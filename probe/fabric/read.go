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
// document, ibnetdiscover, iblinkinfo, a static file. Name stands in messages.
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
	}
	return ParseIbnetdiscover(br, name)
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
