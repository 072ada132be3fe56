package topology

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFindingTable reads the source of the packages that make findings and holds every code it finds there against the table:
// a code in the source that the table lacks, and a row that nobody uses, are both mistakes.
func TestFindingTable(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{".", "../probe", "../placer"} {
		for code := range codesBelow(t, dir) {
			used[code] = true
		}
	}
	var table []string
	for _, k := range FindingKinds() {
		table = append(table, k.Code)
		if k.Meaning == "" || k.Remedy == "" || len(k.Severities) == 0 {
			t.Errorf("%s: must have severities, a meaning and a remedy", k.Code)
		}
	}
	if !slices.IsSorted(table) {
		t.Error("rows must be sorted by code")
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(used)), table); d != "" {
		t.Errorf("codes (-in the source +in the table):\n%s", d)
	}
}

// codesBelow collects the finding codes of all packages below a folder.
func codesBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		p := codeReader{makers: map[string]int{}, codes: codes}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
			if err != nil {
				return err
			}
			p.files = append(p.files, file)
		}
		p.read()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// codeReader reads the codes of one package: constants named CodeX, fields Code of findings, fields code of tables of rules,
// and arguments of functions that hand their parameter "code" to a finding.
type codeReader struct {
	files  []*ast.File
	makers map[string]int // function -> position of the parameter
	codes  map[string]bool
}

func (p *codeReader) read() {
	for _, f := range p.files {
		ast.Inspect(f, p.maker)
	}
	for _, f := range p.files {
		ast.Inspect(f, p.use)
	}
}

// maker notes a function with a parameter "code" whose body makes a finding.
func (p *codeReader) maker(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		p.note(n.Name.Name, n.Type, n.Body)
	case *ast.AssignStmt:
		if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
			p.note(typeName(n.Lhs[0]), lit.Type, lit.Body)
		}
	}
	return true
}

func (p *codeReader) note(name string, f *ast.FuncType, body *ast.BlockStmt) {
	at := 0
	for _, field := range f.Params.List {
		for _, id := range field.Names {
			if id.Name == "code" && body != nil && makesFinding(body) {
				p.makers[name] = at
			}
			at++
		}
	}
}

func makesFinding(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			found = found || typeName(lit.Type) == "Finding"
		}
		return !found
	})
	return found
}

func (p *codeReader) use(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if at, ok := p.makers[typeName(n.Fun)]; ok && at < len(n.Args) {
			p.text(n.Args[at])
		}
	case *ast.CompositeLit:
		if name := typeName(n.Type); name != "" && name != "Finding" {
			return true
		}
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && typeName(kv.Key) == "Code" {
				p.text(kv.Value)
			}
		}
	case *ast.ValueSpec:
		for i, id := range n.Names {
			if strings.HasPrefix(id.Name, "Code") && i < len(n.Values) {
				p.text(n.Values[i])
			}
		}
	case *ast.AssignStmt: // f.Code = "..." and code := "..." in a function that makes a finding of it
		for i, to := range n.Lhs {
			if name := typeName(to); (name == "code" || name == "Code") && i < len(n.Rhs) {
				p.text(n.Rhs[i])
			}
		}
	}
	return true
}

// text notes a code written as text, or the text that a made-up one begins with.
func (p *codeReader) text(e ast.Expr) {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		if lit, ok := sum.X.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, _ := strconv.Unquote(lit.Value)
			p.codes[s+"*"] = true
		}
		return
	}
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, _ := strconv.Unquote(lit.Value)
		p.codes[s] = true
	}
}

// typeName is the last part of a name: Finding of topology.Finding, add of j.add.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
