package main

import (
	"fmt"
	"io"

	"github.com/railmap/railmap/topology/nccl"
)

// readTableFile reads a whole file by one of the package's table readers.
func readTableFile[T any](e *env, path string, read func(io.Reader) ([]T, error)) ([]T, error) {
	f, err := openInput(e, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := read(f)
	if err != nil {
		return nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	}
	return rows, nil
}

// readXMLFile reads an NCCL topology document; "-" is standard input.
func readXMLFile(e *env, path string) (*nccl.XML, error) {
	f, err := openInput(e, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := nccl.ReadXML(f)
	if err != nil {
		return nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	}
	return x, nil
}

// mergeNICs makes one NIC of ports that are near each other, as NCCL_NET_MERGE_LEVEL says: PORT (the ports of one card) or a
// path type such as PIX; "" leaves them apart.
func mergeNICs(x *nccl.XML, level string) (*nccl.XML, error) {
	if level == "" {
		return x, nil
	}
	far := nccl.PathNVL
	if level != "PORT" {
		var err error
		if far, err = nccl.ParsePathType(level); err != nil {
			return nil, usagef("--merge-level: must be PORT or a path type: %w", err)
		}
	}
	x, err := nccl.FuseNICs(x, nccl.FuseNICOptions{Level: far})
	return x, withCode(exitUsage, err)
}
