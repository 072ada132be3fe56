//go:build !linux

package pair

import "syscall"

// socketOptions does nothing where the options do not exist.
func socketOptions(string, string) func(network, address string, c syscall.RawConn) error { return nil }
