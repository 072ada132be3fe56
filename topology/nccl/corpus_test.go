package nccl

import (
	"path/filepath"
	"testing"
)

func corpusXML(t testing.TB, name string) *XML {
	t.Helper()
	x, err := ReadXML(corpus(t, filepath.Join("xml", name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}
