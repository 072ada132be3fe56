package bench

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU is the processor time that the calling thread has used. On a shared machine it is the only honest clock for
// microseconds; it leaves out waiting. The caller must have locked the thread (lockThread).
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// lockThread ties the goroutine to its thread until the returned function is called.
func lockThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
