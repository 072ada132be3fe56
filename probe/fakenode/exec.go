package fakenode

import (
	"bytes"
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
