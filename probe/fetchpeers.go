package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/railmap/railmap/topology"
)

const (
	// maxPeers is enough for a median; they are taken evenly from the map.
	maxPeers       = 24
	maxMapBytes    = 256 << 20
	maxReportBytes = 32 << 20
)

// FetchPeers asks a railmap server for the newest reports of some of its nodes, evenly chosen by name, to compare with.
// Nodes without a kept report are passed over.
func FetchPeers(ctx context.Context, server, tokenFile string) ([]*topology.NodeReport, error) {
	c := peerClient{server: strings.TrimSuffix(server, "/")}
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, err
		}
		c.token = strings.TrimSpace(string(token))
	}
	var names struct {
		Nodes []struct {
			Name string `json:"name"`
		} `json:"nodes"`
	}
	if _, err := c.get(ctx, "/v1/topology", maxMapBytes, &names); err != nil {
		return nil, err
	}
	var peers []*topology.NodeReport
	step := max(1, len(names.Nodes)/maxPeers)
	for i := 0; i < len(names.Nodes) && len(peers) < maxPeers; i += step {
		var kept struct {
			Reports []json.RawMessage `json:"reports"`
		}
		found, err := c.get(ctx, "/v1/reports/"+url.PathEscape(names.Nodes[i].Name), maxReportBytes, &kept)
		if err != nil {
			return peers, err
		}
		if !found || len(kept.Reports) == 0 {
			continue
		}
		r := new(topology.NodeReport)
		if err := topology.Read(bytes.NewReader(kept.Reports[0]), names.Nodes[i].Name, r); err != nil {
			return peers, err
		}
		peers = append(peers, r)
	}
	return peers, nil
}

type peerClient struct{ server, token string }

// get decodes one answer; found is false for "not found".
func (c peerClient) get(ctx context.Context, path string, limit int64, into any) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return false, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return false, nil
	default:
		return false, fmt.Errorf("%s%s: server answers %s", c.server, path, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, limit)).Decode(into); err != nil {
		return false, fmt.Errorf("%s%s: %w", c.server, path, err)
	}
	return true, nil
}
