package server

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// apiDocument is openapi.json, as far as the tests read it.
type apiDocument struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		Summary     string
		Role        string `json:"x-role"`
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Ref         string `json:"$ref"`
			Description string
			Content     map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

// schema is the part of JSON Schema that the document uses.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Enum       []any
	Const      any
	Required   []string
	Properties map[string]schema
	Additional any `json:"additionalProperties"`
	Items      *schema
}

func readAPI(t *testing.T) apiDocument {
	t.Helper()
	var d apiDocument
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// check lists what of a value a schema does not allow.
func (d apiDocument) check(s schema, v any, at string) []string {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		target, ok := d.Components.Schemas[name]
		if !ok {
			return []string{at + ": no schema " + name}
		}
		return d.check(target, v, at)
	}
	if s.Const != nil && v != s.Const {
		return []string{fmt.Sprintf("%s: %v, want %v", at, v, s.Const)}
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, v, s.Enum)}
	}
	if s.Type != nil && !typeFits(s.Type, v) {
		return []string{fmt.Sprintf("%s: %T is no %v", at, v, s.Type)}
	}
	var bad []string
	switch v := v.(type) {
	case map[string]any:
		bad = d.checkObject(s, v, at)
	case []any:
		for i, e := range v {
			if s.Items != nil {
				bad = append(bad, d.check(*s.Items, e, at+"["+strconv.Itoa(i)+"]")...)
			}
		}
	}
	return bad
}

func (d apiDocument) checkObject(s schema, v map[string]any, at string) (bad []string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			bad = append(bad, at+"."+name+" is missing")
		}
	}
	for name, e := range v {
		if p, ok := s.Properties[name]; ok {
			bad = append(bad, d.check(p, e, at+"."+name)...)
		} else if s.Additional == false {
			bad = append(bad, at+"."+name+" is not in the document")
		}
	}
	return bad
}

func typeFits(want, v any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return typeFits(w, v) })
	}
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}

// TestEveryEndpointIsDocumented compares routes and roles with the document, both ways.
func TestEveryEndpointIsDocumented(t *testing.T) {
	d := readAPI(t)
	want := map[string]string{}
	for path, item := range d.Paths {
		for method, op := range item {
			want[strings.ToUpper(method)+" "+path] = op.Role
			if op.Summary == "" || len(op.Responses) < 2 {
				t.Errorf("%s %s: needs a summary and its responses", method, path)
			}
		}
	}
	for _, e := range (&Server{}).endpoints() {
		name := strings.TrimSuffix(e.pattern, "{$}")
		role := string(e.role)
		if e.role == Anyone {
			role = "anyone"
		}
		if want[name] != role {
			t.Errorf("%s: role %q, documented %q", name, role, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is documented and does not exist", name)
	}
}

// TestEveryCodeIsDocumented reads the constants of problem.go.
func TestEveryCodeIsDocumented(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []any
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "code") {
			code, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			codes = append(codes, code)
		}
		return true
	})
	documented := readAPI(t).Components.Schemas["Problem"].Properties["code"].Enum
	slices.SortFunc(codes, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	slices.SortFunc(documented, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if !slices.Equal(codes, documented) {
		t.Errorf("codes %v, documented %v", codes, documented)
	}
}

// TestAnswersAreAsDocumented sends requests to every JSON endpoint and holds body and status against the document; what is
// sent is checked too.
func TestAnswersAreAsDocumented(t *testing.T) {
	_, hs := start(t, nil)
	d := readAPI(t)
	var granted PlaceResponse
	call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 2}, Lease: &LeaseRequest{Holder: "h"}}, &granted)
	id, tok := granted.Lease.ID, granted.Lease.Token
	for _, tt := range []struct {
		method, path, url string
		body              any
		status            int
	}{
		{"POST", "/v1/placements", "/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 3, GPUsPerNode: 4, Within: "pod"}, Lease: &LeaseRequest{Holder: "h", Side: "slurm", Job: "1", TTLSeconds: 9}}, 200},
		{"POST", "/v1/placements", "/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 1000}}, 422},
		{"POST", "/v1/placements", "/v1/placements", PlaceRequest{Request: placer.Request{Nodes: -1}}, 400},
		{"GET", "/v1/leases", "/v1/leases", nil, 200},
		{"GET", "/v1/leases/{id}", "/v1/leases/" + id, nil, 200},
		{"GET", "/v1/leases/{id}", "/v1/leases/none", nil, 404},
		{"POST", "/v1/leases/{id}/bind", "/v1/leases/" + id + "/bind", LeaseAction{Token: tok, Side: "slurm", Job: "7"}, 200},
		{"POST", "/v1/leases/{id}/renew", "/v1/leases/" + id + "/renew", LeaseAction{Token: tok + 7}, 409},
		{"POST", "/v1/leases/{id}/renew", "/v1/leases/" + id + "/renew", LeaseAction{Token: tok, TTLSeconds: 60}, 200},
		{"DELETE", "/v1/leases/{id}", "/v1/leases/" + id + "?token=" + strconv.FormatUint(tok, 10), nil, 200},
		{"POST", "/v1/leases/{id}/renew", "/v1/leases/" + id + "/renew", LeaseAction{Token: tok}, 409},
		{"GET", "/v1/topology", "/v1/topology", nil, 200},
		{"GET", "/v1/topology", "/v1/topology?wait=forever", nil, 400},
		{"GET", "/v1/topology/nodes/{node}", "/v1/topology/nodes/node0000", nil, 200},
		{"GET", "/v1/topology/nodes/{node}", "/v1/topology/nodes/none", nil, 404},
		{"GET", "/v1/topology/findings", "/v1/topology/findings", nil, 200},
		{"GET", "/v1/topology/diff", "/v1/topology/diff?from=1", nil, 200},
		{"GET", "/v1/topology/diff", "/v1/topology/diff?from=99", nil, 404},
		{"GET", "/v1/exports/{target}", "/v1/exports/none", nil, 404},
		{"GET", "/v1/reports/{node}", "/v1/reports/none", nil, 404},
		{"GET", "/readyz", "/readyz", nil, 200},
		{"POST", "/-/reload", "/-/reload", nil, 404},
	} {
		op := d.Paths[tt.path][strings.ToLower(tt.method)]
		if tt.body != nil && tt.status != 400 {
			var sent any
			data, _ := json.Marshal(tt.body)
			_ = json.Unmarshal(data, &sent)
			for _, b := range d.check(op.RequestBody.Content["application/json"].Schema, sent, "request") {
				t.Errorf("%s %s: %s", tt.method, tt.url, b)
			}
		}
		var got any
		status := call(t, tt.method, hs.URL+tt.url, tt.body, &got)
		if status != tt.status {
			t.Errorf("%s %s: %d, want %d: %v", tt.method, tt.url, status, tt.status, got)
		}
		r, ok := op.Responses[strconv.Itoa(status)]
		if !ok {
			t.Errorf("%s %s: status %d is not documented", tt.method, tt.path, status)
		}
		s := r.Content["application/json"].Schema
		if r.Ref != "" {
			s = d.Components.Schemas["Problem"]
		}
		for _, b := range d.check(s, got, "answer") {
			t.Errorf("%s %s: %s", tt.method, tt.url, b)
		}
	}
}

// TestPagesLoadNothingForeign: everything that a page asks for comes from this server.
func TestPagesLoadNothingForeign(t *testing.T) {
	_, hs := start(t, nil)
	for path, kind := range map[string]string{"/": "text/html", "/docs": "text/html", "/ui/app.js": "text/javascript", "/ui/docs.js": "text/javascript", "/ui/page.css": "text/css"} {
		resp, err := http.Get(hs.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body := readBodyText(t, resp)
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), kind) || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s %v", path, resp.Status, resp.Header)
		}
		for _, foreign := range []string{`src="http`, `href="http`, "<script>", "onclick=", "innerHTML", "eval("} {
			if strings.Contains(body, foreign) {
				t.Errorf("%s holds %s", path, foreign)
			}
		}
	}
	for _, path := range []string{"/ui/none.js", "/ui/..%2fopenapi.json", "/ui/index"} {
		if status := call(t, "GET", hs.URL+path, nil, nil); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestEveryFieldIsDocumented compares the Go types of bodies with their schemas: a field that is added there must be added in
// openapi.json.
func TestEveryFieldIsDocumented(t *testing.T) {
	d := readAPI(t)
	for name, v := range map[string]any{"PlacementRequest": placer.Request{}, "Placement": placer.Placement{}, "Lease": ledger.Lease{}, "Claim": ledger.Claim{}, "Problem": Problem{},
		"PlaceRequest": PlaceRequest{}, "PlaceResponse": PlaceResponse{}, "LeaseRequest": LeaseRequest{}, "LeaseAction": LeaseAction{}, "LeaseList": LeaseList{}, "NodeView": NodeView{},
		"Finding": topology.Finding{}, "Event": Event{}, "Readiness": Readiness{}} {
		fields := map[string]bool{}
		jsonFields(reflect.TypeOf(v), fields)
		for f := range fields {
			if _, ok := d.Components.Schemas[name].Properties[f]; !ok {
				t.Errorf("%s.%s is not in openapi.json", name, f)
			}
		}
		for f := range d.Components.Schemas[name].Properties {
			if !fields[f] {
				t.Errorf("%s.%s is in openapi.json only", name, f)
			}
		}
	}
}

func jsonFields(t reflect.Type, into map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			jsonFields(f.Type, into)
		} else if name != "-" {
			into[name] = true
		}
	}
}
