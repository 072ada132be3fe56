//go:build !(cgo && linux)

package cuda

import (
	"context"
	"fmt"
)

// Run tells that this build cannot measure: the driver library needs cgo.
func Run(context.Context, Plan, Options, func(Result)) error {
	return fmt.Errorf("%w: this railmap is built without cgo; use the build for GPU nodes", ErrNoDriver)
}
