package cuda

import (
	"errors"
	"fmt"
)

// ErrNoDriver means that the CUDA driver library is not on this machine.
var ErrNoDriver = errors.New("no CUDA driver: libcuda.so.1 not usable")

const (
	cudaLibrary = "libcuda.so.1"
	ncclLibrary = "libnccl.so.2"

	notReady      = 600 // CUDA_ERROR_NOT_READY
	notSupported  = 801 // CUDA_ERROR_NOT_SUPPORTED
	alreadyPeered = 704 // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
)

// CallError is a driver call that did not succeed.
type CallError struct {
	Call string // cuMemAlloc
	Code int    // CUresult
	Name string // CUDA_ERROR_OUT_OF_MEMORY, when the driver tells
}

func (e *CallError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: error %d (%s)", e.Call, e.Code, e.Name)
}
