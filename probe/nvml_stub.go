//go:build !(cgo && linux)

package probe

import "errors"

// openDriver tells that this build cannot ask the GPU driver: its library needs cgo.
func openDriver(string) (gpuDriver, error) {
	return nil, errors.New("this railmap is built without cgo and cannot ask the GPU driver: use the build for GPU nodes")
}
