package probe

import (
	"errors"

	"github.com/railmap/railmap/topology"
)

// errNoDriver means that the management library of the GPU driver is not on this machine.
var errNoDriver = errors.New("no NVIDIA driver: libnvidia-ml.so.1 not found")

// gpuDriver is what the probe asks of the GPU driver.
type gpuDriver interface {
	// info gives the versions.
	info() topology.DriverInfo
	// gpus lists the GPUs in driver order, with what each could not tell as findings.
	gpus() ([]topology.GPU, []topology.Finding, error)
	// pcieLink gives generation and width of a GPU's link as they are now, nil where unknown.
	pcieLink(address string) (generation, width *int)
	// close releases the library.
	close()
}

// nvmlLibrary is the file name of the management library.
const nvmlLibrary = "libnvidia-ml.so.1"
