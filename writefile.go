package main

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/railmap/railmap/topology"
)

// writeFile writes to a file, or to stdout for "-". A file is replaced whole or not at all: temporary file in the same
// directory, fsync, rename, fsync of the directory. A name that ends in .gz is compressed (without a time stamp, so that
// the same content gives the same bytes). What is not a regular file (a pipe, /dev/null) is written in place.
func writeFile(e *env, path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(e.stdout)
	}
	if strings.HasSuffix(path, ".gz") {
		plain := write
		write = func(w io.Writer) error {
			zw := gzip.NewWriter(w)
			if err := plain(zw); err != nil {
				return err
			}
			return zw.Close()
		}
	}
	mode := os.FileMode(0o644)
	if fi, err := os.Stat(path); err == nil {
		if !fi.Mode().IsRegular() {
			return writeInPlace(path, write)
		}
		mode = fi.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	return replaceFile(path, mode, write)
}

// writeDocumentFile writes a document in the format that the file name asks for.
func writeDocumentFile(e *env, path string, doc any) error {
	return writeFile(e, path, func(w io.Writer) error { return topology.Write(w, doc, topology.FormatOf(path)) })
}

func writeInPlace(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	bw := bufio.NewWriterSize(f, 1<<16)
	if err = write(bw); err != nil {
		return err
	}
	if err = bw.Flush(); err != nil {
		return err
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename survive a power cut. Some file systems refuse to sync a directory: the file itself is safe then.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
