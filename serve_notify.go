package main

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"
)

// notifySystemd tells the service manager how the process is (sd_notify(3)). Without one it does nothing.
func notifySystemd(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if path[0] == '@' {
		path = "\x00" + path[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}

// feedWatchdog tells the service manager that the process works, twice in WATCHDOG_USEC, as long as alive agrees. It returns
// when ctx ends.
func feedWatchdog(ctx context.Context, alive func(context.Context) error) {
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || usec <= 0 {
		return
	}
	every := time.Duration(usec) * time.Microsecond / 2
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		check, cancel := context.WithTimeout(ctx, every)
		if alive(check) == nil {
			notifySystemd("WATCHDOG=1")
		}
		cancel()
	}
}
