package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/railmap/railmap/probe/cuda"
	"github.com/railmap/railmap/topology"
)

// workerRequest is what the child that measures is told.
type workerRequest struct {
	DriverDir string    `json:"driverDir,omitempty"`
	Inventory bool      `json:"inventory,omitempty"` // list the GPUs, measure nothing
	Plan      cuda.Plan `json:"plan"`
}

// workerEvent is one line of the child's answer: exactly one field is set.
type workerEvent struct {
	Inventory *inventory   `json:"inventory,omitempty"`
	Result    *cuda.Result `json:"result,omitempty"`
	Link      *busyLink    `json:"link,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// inventory is what the management library says about the GPUs of the node.
type inventory struct {
	Driver   *topology.DriverInfo `json:"driver,omitempty"`
	GPUs     []topology.GPU       `json:"gpus,omitempty"`
	Findings []topology.Finding   `json:"findings,omitempty"`
	Missing  bool                 `json:"missing,omitempty"` // the library is not there
	Error    string               `json:"error,omitempty"`
}

// takeInventory asks the driver in this process.
func takeInventory(dir string) inventory {
	d, err := openDriver(dir)
	if err != nil {
		return inventory{Missing: errors.Is(err, errNoDriver), Error: err.Error()}
	}
	defer d.close()
	var i inventory
	i.Driver = new(d.info())
	i.GPUs, i.Findings, err = d.gpus()
	if err != nil {
		i.Error = err.Error()
	}
	return i
}

// busyLink is the PCIe link of a GPU while it works.
type busyLink struct {
	GPU        string `json:"gpu"`
	Generation *int   `json:"generation,omitempty"`
	Width      *int   `json:"width,omitempty"`
}

// Worker is the child process that talks to the GPU driver: it reads one request and writes one line for each result. It lives
// apart because a driver call that hangs or crashes can only be ended together with its process.
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
	if req.Inventory {
		i := takeInventory(req.DriverDir)
		send(workerEvent{Inventory: &i})
		return broken
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
