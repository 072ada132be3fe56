package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// runChild runs a program on one processor and gives what it prints.
func runChild(ctx context.Context, program string, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}
