package fakenode

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles the fake driver with the C compiler of this machine and returns the path of the library.
func Build(dir string) (library string, err error) {
	source, library := filepath.Join(dir, "fake.c"), filepath.Join(dir, "librailmapfake.so")
	if err := os.WriteFile(source, driverSource, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("gcc", "-Wall", "-O1", "-shared", "-fPIC", "-o", library, source)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("compile the fake driver with gcc: %w\n%s", err, out.String())
	}
	return library, nil
}

// Library is Build with a memory: the library is compiled once for each state of its source, into the user's cache folder.
func Library() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(driverSource)
	dir := filepath.Join(cache, "railmap", fmt.Sprintf("fake-driver-%x", sum[:6]))
	library := filepath.Join(dir, "librailmapfake.so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	built, err := Build(work)
	if err != nil {
		return "", err
	}
	return library, os.Rename(built, library)
}
