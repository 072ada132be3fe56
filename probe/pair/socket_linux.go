package pair

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketOptions prepares a sender's socket: lesson "congestion", and the interface when one is named. Binding to an interface
// needs a capability that not everybody has; the source address does nearly the same, so a refusal is no error.
func socketOptions(congestion, device string) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		controlErr := c.Control(func(fd uintptr) {
			if device != "" {
				_ = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device)
			}
			if congestion != "" {
				if e := unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion); e != nil {
					err = fmt.Errorf("congestion control %q: must be one of /proc/sys/net/ipv4/tcp_available_congestion_control: %w", congestion, e)
				}
			}
		})
		if controlErr != nil {
			return controlErr
		}
		return err
	}
}
