package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// Client talks to the service. Every call ends when its context does; until then it is tried again while the service cannot be
// reached or says 503 or 429. That is safe: reads and lease actions give the same outcome when repeated, and a placement
// carries an Idempotency-Key.
type Client struct {
	base  string
	http  *http.Client
	token string
}

// maxAnswer bounds an answer: the map of 131,072 nodes has about 100 MB.
const maxAnswer = topology.MaxDocumentBytes

// UnreachableError says that the service gave no usable answer in the time that the caller had.
type UnreachableError struct {
	Server string
	Err    error
}

// Error names the server.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("placement service %s: %v", e.Server, e.Err)
}

// Unwrap is the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// NewClient makes a client for a base URL such as https://railmap.example:7070. Token is a bearer token, "" = none. Transport
// nil is the default one.
func NewClient(base, token string, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("server is %q: must be a URL such as http://127.0.0.1:7070", base)
	}
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, http: &http.Client{Transport: transport}}, nil
}

// Place asks for a placement, with a lease when the request says so.
func (c *Client) Place(ctx context.Context, req *PlaceRequest) (*PlaceResponse, error) {
	var resp PlaceResponse
	err := c.call(ctx, http.MethodPost, "/v1/placements", req, &resp)
	if err == nil && resp.Placement == nil {
		err = &UnreachableError{c.base, errors.New("the answer holds no placement: is this a railmap server?")}
	}
	return &resp, err
}

// Topology reads the current map.
func (c *Client) Topology(ctx context.Context) (*topology.Topology, error) {
	data, err := c.retry(ctx, http.MethodGet, "/v1/topology", nil)
	if err != nil {
		return nil, err
	}
	var t topology.Topology
	if err := topology.Read(bytes.NewReader(data), "answer", &t); err != nil {
		return nil, &UnreachableError{c.base, err}
	}
	return &t, nil
}

// Leases lists the leases, all or those that hold something.
func (c *Client) Leases(ctx context.Context, live bool) ([]*ledger.Lease, error) {
	var list LeaseList
	err := c.call(ctx, http.MethodGet, "/v1/leases?live="+strconv.FormatBool(live), nil, &list)
	return list.Leases, err
}

// Lease reads one lease.
func (c *Client) Lease(ctx context.Context, id string) (*ledger.Lease, error) {
	return c.lease(ctx, http.MethodGet, id, "", nil)
}

// Bind tells which job of a scheduler has the lease now.
func (c *Client) Bind(ctx context.Context, id string, a LeaseAction) (*ledger.Lease, error) {
	return c.lease(ctx, http.MethodPost, id, "/bind", a)
}

// Renew gives a lease its time again.
func (c *Client) Renew(ctx context.Context, id string, a LeaseAction) (*ledger.Lease, error) {
	return c.lease(ctx, http.MethodPost, id, "/renew", a)
}

// Release gives the GPUs back. Token 0 is for administrators, who need none.
func (c *Client) Release(ctx context.Context, id string, token uint64) (*ledger.Lease, error) {
	query := ""
	if token != 0 {
		query = "?token=" + strconv.FormatUint(token, 10)
	}
	return c.lease(ctx, http.MethodDelete, id, query, nil)
}

func (c *Client) lease(ctx context.Context, method, id, rest string, body any) (*ledger.Lease, error) {
	var l ledger.Lease
	err := c.call(ctx, method, "/v1/leases/"+url.PathEscape(id)+rest, body, &l)
	return &l, err
}

// Submit sends one report or occupancy document as it is.
func (c *Client) Submit(ctx context.Context, document []byte) error {
	_, err := c.retry(ctx, http.MethodPost, "/v1/reports", document)
	return err
}

// Backup reads a copy of the ledger's file.
func (c *Client) Backup(ctx context.Context) ([]byte, error) {
	return c.retry(ctx, http.MethodGet, "/v1/store/backup", nil)
}

// call sends and decodes JSON.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := c.retry(ctx, method, path, data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return &UnreachableError{c.base, fmt.Errorf("the answer is not what railmap says: %w", err)}
	}
	return nil
}

// retry tries until there is an answer that another try would not change.
func (c *Client) retry(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	var key [16]byte
	rand.Read(key[:])
	pause := 50 * time.Millisecond
	for {
		answer, after, err := c.once(ctx, method, path, body, hex.EncodeToString(key[:]))
		if err == nil || after < 0 {
			return answer, err
		}
		wait := time.NewTimer(max(pause, after))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, err
		case <-wait.C:
		}
		pause = min(2*pause, time.Second)
	}
}

// once makes one try. After is negative when another try would bring the same.
func (c *Client) once(ctx context.Context, method, path string, body []byte, key string) (answer []byte, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, -1, err
	}
	if method == http.MethodPost {
		req.Header.Set("Idempotency-Key", key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, &UnreachableError{c.base, cause(ctx, err)}
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, 0, &UnreachableError{c.base, cause(ctx, err)}
	}
	if resp.StatusCode < 300 {
		return answer, 0, nil
	}
	after = -1
	if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		after = time.Duration(seconds) * time.Second
	}
	return nil, after, c.refusal(resp, answer)
}

// refusal is the problem that the service told, or what else came.
func (c *Client) refusal(resp *http.Response, answer []byte) error {
	var p Problem
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(answer, &p) == nil && p.Code != "" {
		p.Status = resp.StatusCode
		return &p
	}
	return &UnreachableError{c.base, fmt.Errorf("answered %s without saying why: is this a railmap server?", resp.Status)}
}

// cause says "no answer in time" instead of naming a context, and drops the method and URL that net/http repeats.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
