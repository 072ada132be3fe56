package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// crashTraffic is the process that gets killed: it grants and releases gangs of three nodes from eight goroutines and prints
// a line after each acknowledgement.
func crashTraffic(path string) {
	store, err := OpenBolt(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	l, err := Open(context.Background(), store, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(`{"ready":true}`)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				third := fmt.Sprintf("p%d-w%d-%d-c", os.Getpid(), w, i)
				if i%2 == 0 {
					third = fmt.Sprintf("shared%d", rand.IntN(8)) // contended, and given back
				}
				lease, err := reserve(l, fmt.Sprintf("p%d-w%d-%d-a", os.Getpid(), w, i), fmt.Sprintf("p%d-w%d-%d-b", os.Getpid(), w, i), third)
				if err != nil {
					continue
				}
				acknowledged(lease)
				if i%2 == 0 {
					if lease, err = Do(context.Background(), l, func(tx *Tx) (*Lease, error) { return tx.Release(lease.ID, lease.Token) }); err == nil {
						acknowledged(lease)
					}
				}
			}
		}()
	}
	time.Sleep(30 * time.Second) // killed long before
}

// acknowledged writes one line in one write call: it is in the pipe before the process can die.
func acknowledged(l *Lease) {
	line, _ := json.Marshal(map[string]any{"id": l.ID, "phase": l.Phase})
	os.Stdout.Write(append(line, '\n'))
}

// TestKilled kills the process at random moments, twenty times on one file: no acknowledged lease is lost, no gang is half.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	last := map[string]Phase{}
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		killOnce(t, path, last)
		checkAfterKill(t, path, last)
	}
	t.Logf("%d leases acknowledged over %d kills", len(last), rounds)
}

func killOnce(t *testing.T, path string, last map[string]Phase) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RAILMAP_TEST_CRASH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct {
			Ready bool
			ID    string
			Phase Phase
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // cut by the kill
		}
		if line.Ready {
			time.AfterFunc(time.Duration(5+rand.IntN(200))*time.Millisecond, func() { cmd.Process.Kill() })
			continue
		}
		last[line.ID] = line.Phase
	}
	cmd.Wait()
}

func checkAfterKill(t *testing.T, path string, last map[string]Phase) {
	t.Helper()
	store, err := OpenBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	snap, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state := newState()
	for _, l := range snap.Leases {
		if len(l.Claims) != 3 {
			t.Errorf("lease %s has %d of 3 nodes", l.ID, len(l.Claims))
		}
		state.apply(change{nil, l})
	}
	state.nextToken = max(state.nextToken, snap.NextToken)
	if err := state.check(); err != nil {
		t.Error(err)
	}
	for id, phase := range last {
		now, ok := state.Get(id)
		if !ok {
			t.Fatalf("lease %s was acknowledged as %s and is lost", id, phase)
		}
		if phase == Released && now.Phase != Released {
			t.Errorf("the release of %s was acknowledged, it is %s", id, now.Phase)
		}
	}
}
