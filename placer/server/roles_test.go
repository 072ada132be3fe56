package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func readBodyText(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tokens makes one token for each role; the reporter is node0000.
func tokens(t testing.TB) (secrets map[Role]string, list []Token) {
	t.Helper()
	secrets = map[Role]string{}
	for _, role := range []Role{Reporter, Requester, Admin} {
		node := ""
		if role == Reporter {
			node = "node0000"
		}
		secret, tok, err := NewToken(string(role), role, node, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		secrets[role] = secret
		list = append(list, tok)
	}
	return secrets, list
}

// send makes a request with a bearer token.
func send(t testing.TB, method, url, token, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestRoles asks every endpoint as nobody, with a wrong token, and in each role. The table says who gets through; what a
// caller who gets through is answered is no 401 or 403.
func TestRoles(t *testing.T) {
	secrets, list := tokens(t)
	secrets["nobody"], secrets["wrong"] = "", "railmap_wrong"
	s, hs := start(t, func(o *Options) { o.Auth = Auth{Required: true, Tokens: func() []Token { return list }} })
	who := []Role{"nobody", "wrong", Reporter, Requester, Admin}
	table := map[string]string{ // in the order of who: + gets through, 1 = 401, 3 = 403
		"GET /healthz": "+++++", "GET /readyz": "+++++", "GET /openapi.json": "+++++", "GET /docs": "+++++", "GET /metrics": "+++++", "GET /{$}": "+++++", "GET /ui/{file}": "+++++",
		"POST /v1/reports":       "11+3+",
		"GET /v1/reports/{node}": "113++", "GET /v1/topology": "113++", "GET /v1/topology.svg": "113++", "GET /v1/topology/nodes/{node}": "113++",
		"GET /v1/topology/findings": "113++", "GET /v1/topology/diff": "113++", "POST /v1/placements": "113++", "GET /v1/leases": "113++", "GET /v1/leases/{id}": "113++",
		"POST /v1/leases/{id}/bind": "113++", "POST /v1/leases/{id}/renew": "113++", "DELETE /v1/leases/{id}": "113++", "GET /v1/exports/{target}": "113++", "GET /v1/events": "113++",
		"GET /v1/store/backup": "1133+", "POST /-/reload": "1133+",
	}
	cells := 0
	for _, e := range s.endpoints() {
		want := table[e.pattern]
		if len(want) != len(who) {
			t.Errorf("%s is not in the table", e.pattern)
			continue
		}
		method, path, _ := strings.Cut(e.pattern, " ")
		for i, role := range who {
			body := ""
			if method == "POST" {
				body = `{"apiVersion":"railmap.dev/v1","kind":"NodeReport","node":"node0000"}`
			}
			resp := send(t, method, hs.URL+strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(path), secrets[role], body)
			resp.Body.Close()
			got := "+"
			switch resp.StatusCode {
			case http.StatusUnauthorized:
				got = "1"
			case http.StatusForbidden:
				got = "3"
			}
			if got != want[i:i+1] {
				t.Errorf("%s as %s: %s, want %s (status %d)", e.pattern, role, got, want[i:i+1], resp.StatusCode)
			}
			cells++
		}
	}
	t.Logf("%d cells", cells)
}

// TestReporterIsBoundToItsNode: a reporter speaks for one node, and only about what that node is.
func TestReporterIsBoundToItsNode(t *testing.T) {
	secrets, list := tokens(t)
	_, hs := start(t, func(o *Options) { o.Auth = Auth{Required: true, Tokens: func() []Token { return list }} })
	head := `{"apiVersion":"railmap.dev/v1","kind":"`
	for _, tt := range []struct {
		role Role
		body string
		want int
	}{
		{Admin, head + `NodeReport","node":"node0001"}`, 202}, {Admin, head + `Occupancy","side":"slurm","nodes":[]}`, 202}, {Admin, head + `PairReport","pairs":[]}`, 202},
		{Reporter, head + `NodeReport","node":"node0000"}`, 202}, {Reporter, head + `NodeReport","node":"node0001"}`, 403},
		{Reporter, head + `Occupancy","side":"slurm","nodes":[]}`, 403},
	} {
		resp := send(t, "POST", hs.URL+"/v1/reports", secrets[tt.role], tt.body)
		if text := readBodyText(t, resp); resp.StatusCode != tt.want {
			t.Errorf("%s %s: %d, want %d: %s", tt.role, tt.body, resp.StatusCode, tt.want, text)
		}
	}
}

// TestRevokedToken: a token that left the list is refused at the next request.
func TestRevokedToken(t *testing.T) {
	secrets, list := tokens(t)
	_, hs := start(t, func(o *Options) { o.Auth = Auth{Required: true, Tokens: func() []Token { return list }} })
	if resp := send(t, "GET", hs.URL+"/v1/leases", secrets[Requester], ""); resp.StatusCode != 200 {
		t.Fatal(resp.Status, readBodyText(t, resp))
	} else {
		resp.Body.Close()
	}
	list = list[2:]
	resp := send(t, "GET", hs.URL+"/v1/leases", secrets[Requester], "")
	if text := readBodyText(t, resp); resp.StatusCode != 401 {
		t.Fatal(resp.Status, text)
	}
}

// TestOtherSites: a page of another site cannot make a browser change anything here.
func TestOtherSites(t *testing.T) {
	_, hs := start(t, nil)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", hs.URL+"/v1/placements", strings.NewReader(`{"request":{"nodes":1}}`))
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	req.Header.Set("Origin", "https://elsewhere.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request from another site: %s", resp.Status)
	}
}

// TestRateLimits: each identity has its own budget; a refusal says how long to wait.
func TestRateLimits(t *testing.T) {
	secrets, list := tokens(t)
	secret, second, err := NewToken("second", Requester, "", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, second)
	_, hs := start(t, func(o *Options) { o.Auth = Auth{Required: true, Tokens: func() []Token { return list }} })
	report := `{"apiVersion":"railmap.dev/v1","kind":"NodeReport","node":"node0000"}`
	got := map[string]int{}
	for range 6 {
		resp := send(t, "POST", hs.URL+"/v1/reports", secrets[Reporter], report)
		got[fmt.Sprint("report ", resp.StatusCode)]++
		if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		resp.Body.Close()
	}
	for range placeBurst + 20 {
		resp := send(t, "POST", hs.URL+"/v1/placements", secrets[Requester], `{"request":{"nodes":1}}`)
		got[fmt.Sprint("place ", resp.StatusCode)]++
		resp.Body.Close()
	}
	if got["report 202"] != reportsBurst || got["report 429"] != 3 || got["place 200"] < placeBurst || got["place 429"] == 0 {
		t.Errorf("answers: %v", got)
	}
	resp := send(t, "POST", hs.URL+"/v1/placements", secret, `{"request":{"nodes":1}}`)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("another identity is refused because of a noisy one: %s", resp.Status)
	}
}
