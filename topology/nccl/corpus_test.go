package nccl

import (
	"os"
	"path/filepath"
	"testing"
)

// corpusDir holds public NCCL files and computed results; it is not part of the repository.
const corpusDir = "../../../shared/corpus/nccl"

// corpus returns a path in the corpus, or skips where it is absent.
func corpus(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{corpusDir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no corpus: %v", err)
	}
	return path
}

func corpusXML(t testing.TB, name string) *XML {
	t.Helper()
	f, err := os.Open(corpus(t, "xml", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := ReadXML(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}
