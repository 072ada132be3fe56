//go:build !linux

package bench

import "time"

// threadCPU falls back to the wall clock where there is no clock per thread.
func threadCPU() time.Duration { return time.Duration(time.Now().UnixNano()) }

func lockThread() func() { return func() {} }
