package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/railmap/railmap/probe/cuda"
)

// workerRequest is what the child that measures is told.
type workerRequest struct {
	DriverDir string    `json:"driverDir,omitempty"`
	Plan      cuda.Plan `json:"plan"`
}

// workerEvent is one line of the child's answer: exactly one field is set.
type workerEvent struct {
	Result *cuda.Result `json:"result,omitempty"`
	Link   *busyLink    `json:"link,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// busyLink is the PCIe link of a GPU while it works.
type busyLink struct {
	GPU        string `json:"gpu"`
	Generation *int   `json:"generation,omitempty"`
	Width      *int   `json:"width,omitempty"`
}

// Worker is the child process that measures GPUs: it reads one request and writes one line for each result. It lives apart
// because a driver call that hangs can only be ended together with its process.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	var req workerRequest
	if err := json.NewDecoder(in).Decode(&req); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	enc := json.NewEncoder(out)
	var broken error
	send := func(e workerEvent) {
		if err := enc.Encode(e); err != nil && broken == nil {
			broken = err
		}
	}
	driver, driverErr := openDriver(req.DriverDir)
	if driverErr == nil {
		defer driver.close()
	}
	o := cuda.Options{Dir: req.DriverDir, Busy: func(gpu string) {
		if driverErr == nil {
			generation, width := driver.pcieLink(req.Plan.GPUs[gpu])
			send(workerEvent{Link: &busyLink{GPU: gpu, Generation: generation, Width: width}})
		}
	}}
	if err := cuda.Run(ctx, req.Plan, o, func(r cuda.Result) { send(workerEvent{Result: &r}) }); err != nil {
		send(workerEvent{Error: err.Error()})
	}
	return broken
}
