package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/railmap/railmap/topology"
)

const (
	loopbackSamples = 5
	// loopbackTime is how long one throughput sample takes.
	loopbackTime = 200 * time.Millisecond
	// roundTrips is the number of one-byte exchanges in one latency sample.
	roundTrips = 200
	writeBytes = 256 << 10
)

// measureLoopback sends TCP over the loopback interface: what processor and kernel can do without any NIC.
func measureLoopback(ctx context.Context) (*topology.Loopback, error) {
	here, there, err := loopbackPair(ctx)
	if err != nil {
		return nil, err
	}
	defer here.Close()
	defer there.Close()
	stop := context.AfterFunc(ctx, func() { here.Close(); there.Close() })
	defer stop()
	rtt, err := sampleRoundTrips(here, there)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	bandwidth, err := sampleThroughput(here, there)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return &topology.Loopback{
		BandwidthBytesPerSecond: new(summarize(bandwidth, "tcp")),
		RoundTripSeconds:        new(summarize(rtt, "tcp")),
	}, nil
}

func loopbackPair(ctx context.Context) (here, there net.Conn, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen on loopback: %w", err)
	}
	defer listener.Close()
	// The kernel completes the handshake before Accept is called, so no second goroutine is needed.
	here, err = new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, nil, fmt.Errorf("connect over loopback: %w", err)
	}
	there, err = listener.Accept()
	if err != nil {
		here.Close()
		return nil, nil, fmt.Errorf("accept on loopback: %w", err)
	}
	return here, there, nil
}

// sampleRoundTrips returns the mean seconds of one exchange in each sample.
func sampleRoundTrips(here, there net.Conn) ([]float64, error) {
	echoed := make(chan error, 1)
	total := loopbackSamples * roundTrips
	go func() {
		_, err := io.CopyN(there, oneByte{there}, int64(total))
		echoed <- err
	}()
	samples := make([]float64, 0, loopbackSamples)
	var b [1]byte
	var failed error
	for range loopbackSamples {
		began := time.Now()
		for i := 0; i < roundTrips && failed == nil; i++ {
			_, failed = here.Write(b[:])
			if failed == nil {
				_, failed = io.ReadFull(here, b[:])
			}
		}
		samples = append(samples, time.Since(began).Seconds()/roundTrips)
	}
	if failed != nil {
		here.Close()
	}
	return samples, errors.Join(failed, <-echoed)
}

// oneByte reads single bytes, so that the echo answers each at once.
type oneByte struct{ net.Conn }

func (c oneByte) Read(p []byte) (int, error) { return c.Conn.Read(p[:1]) }

// sampleThroughput returns the bytes per second that arrived in each sample.
func sampleThroughput(here, there net.Conn) ([]float64, error) {
	sent := make(chan error, 1)
	go func() {
		buf := make([]byte, writeBytes)
		for {
			if _, err := here.Write(buf); err != nil {
				sent <- err
				return
			}
		}
	}()
	samples := make([]float64, 0, loopbackSamples)
	buf := make([]byte, writeBytes)
	var failed error
	for i := 0; i <= loopbackSamples && failed == nil; i++ {
		began, bytes := time.Now(), 0
		for failed == nil && time.Since(began) < loopbackTime {
			var n int
			n, failed = there.Read(buf)
			bytes += n
		}
		if i > 0 { // the first opens the window
			samples = append(samples, float64(bytes)/time.Since(began).Seconds())
		}
	}
	there.Close() // ends the writer
	<-sent
	return samples, failed
}
