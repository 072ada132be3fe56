package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

const (
	submitPath    = "/v1/reports"
	submitTries   = 3
	submitTimeout = 10 * time.Second
	maxSpool      = 64 // reports that wait; older ones are dropped, the newest counts
)

// Submitter sends reports to a railmap server and keeps them on disk while it is away.
type Submitter struct {
	URL       string // of the server: https://railmap.example
	Spool     string // folder for reports that wait
	TokenFile string // file with the token; "" sends none
	Client    *http.Client
	Pause     time.Duration // between tries; zero is one second
}

// errRefused means that the server answered and does not want the report: trying again is no use.
var errRefused = errors.New("the server refuses the report")

// Submit sends what waits and then this report. When the server is away the report is kept, and waiting tells how many are;
// the error is about a refused report or about the disk.
func (s Submitter) Submit(ctx context.Context, r *topology.NodeReport) (waiting int, err error) {
	var b bytes.Buffer
	if err := topology.Write(&b, r, topology.JSON); err != nil {
		return 0, err
	}
	queue, err := s.waiting()
	if err != nil {
		return 0, err
	}
	for i, path := range queue {
		data, err := os.ReadFile(path)
		if err != nil {
			return len(queue) - i, err
		}
		if err := s.send(ctx, data); err != nil && !errors.Is(err, errRefused) {
			return len(queue) - i + 1, s.keep(b.Bytes(), queue[i:])
		}
		if err := os.Remove(path); err != nil { // sent, or refused for good
			return len(queue) - i, err
		}
	}
	if err := s.send(ctx, b.Bytes()); err != nil {
		if errors.Is(err, errRefused) {
			return 0, err
		}
		return 1, s.keep(b.Bytes(), nil)
	}
	return 0, nil
}

// waiting lists the reports in the spool, oldest first.
func (s Submitter) waiting() ([]string, error) {
	entries, err := os.ReadDir(s.Spool)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "report-") && strings.HasSuffix(e.Name(), ".json") {
			paths = append(paths, filepath.Join(s.Spool, e.Name()))
		}
	}
	slices.SortFunc(paths, topology.CompareNames)
	return paths, err
}

// keep writes a report into the spool under the next number and drops the oldest when there are too many.
func (s Submitter) keep(data []byte, queue []string) error {
	if err := os.MkdirAll(s.Spool, 0o750); err != nil {
		return fmt.Errorf("keep the report for later: %w", err)
	}
	next := 1
	if len(queue) > 0 {
		last := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(queue[len(queue)-1]), "report-"), ".json")
		if n := number(strings.TrimLeft(last, "0")); n != nil {
			next = *n + 1
		}
	}
	for len(queue) >= maxSpool {
		if err := os.Remove(queue[0]); err != nil {
			return err
		}
		queue = queue[1:]
	}
	f, err := os.CreateTemp(s.Spool, "new-")
	if err != nil {
		return fmt.Errorf("keep the report for later: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.Spool, fmt.Sprintf("report-%08d.json", next)))
}

// send posts one report, a few times when the server does not answer or is overloaded.
func (s Submitter) send(ctx context.Context, data []byte) error {
	var last error
	for try := range submitTries {
		if try > 0 {
			pause := s.Pause
			if pause == 0 {
				pause = time.Second
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause << (try - 1)):
			}
		}
		retry, err := s.post(ctx, data)
		if err == nil || !retry {
			return err
		}
		last = err
	}
	return last
}

func (s Submitter) post(ctx context.Context, data []byte) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.URL, "/")+submitPath, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.TokenFile != "" {
		token, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return false, err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return true, fmt.Errorf("server answers %s", resp.Status)
	}
	return false, fmt.Errorf("%w: %s: %s", errRefused, resp.Status, strings.TrimSpace(string(answer)))
}
