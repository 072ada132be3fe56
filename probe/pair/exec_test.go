package pair

import (
	"os"
	"testing"
)

// fakePerftest prints what ib_write_bw prints for a client (its last argument is an address); a server ends silently.
const fakePerftest = `#!/bin/sh
for last; do :; done
case $last in
*.*.*.*) echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
         echo " 65536      1000             0.00               392.50             0.748672" ;;
esac
`

// The figures of perftest come from the sender, rail by rail.
func TestSweepByPerftest(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/ib_write_bw", []byte(fakePerftest), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	l := listenLoopback(t)
	rails, devices := []string{"127.0.0.1", "127.0.0.2"}, []string{"mlx5_0", "mlx5_1"}
	wait := joinAll(t.Context(), l, JoinOptions{Node: "n0", NICs: rails, Devices: devices}, JoinOptions{Node: "n1", NICs: rails, Devices: devices})
	o := quick(2)
	o.Method = MethodPerftest
	r, err := Coordinate(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	wait()
	if len(r.Pairs) != 6 {
		t.Fatalf("%d lines, want 2 of all rails and 4 of one: %+v", len(r.Pairs), r.Pairs)
	}
	for _, p := range r.Pairs {
		want := 2 * 392.5e9 / 8
		if p.Rail != nil {
			want /= 2
		}
		if p.BandwidthBytesPerSecond == nil || p.BandwidthBytesPerSecond.Value != want || p.BandwidthBytesPerSecond.Method != MethodPerftest || p.Rail != nil && p.DeviceA != devices[*p.Rail] {
			t.Errorf("%+v: %+v %s", p, p.BandwidthBytesPerSecond, p.Failed)
		}
	}
}
