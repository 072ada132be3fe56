package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/railmap/railmap"

type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	Deps       []string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
}

// listPackages is "go list -deps": our packages and everything they stand on.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Imports,Deps,Standard,GoFiles,CgoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]goPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// direction is one rule about what a package may stand on, directly or not.
type direction struct {
	pkg     string   // package, or folder of packages with a trailing /...
	allowed []string // what else than the standard library it may stand on; nil = anything that is not forbidden
	not     []string // what it may not stand on
	why     string
}

// directions hold the one flow: a package knows what stands left of it, never what stands right.
func directions() []direction {
	return []direction{
		{"topology", []string{"gopkg.in/yaml.v3"}, nil, "everybody stands on the map, so the map stands on almost nothing"},
		{"topology/nccl", []string{"topology", "gopkg.in/yaml.v3"}, nil, "NCCL's view is computed from the map alone"},
		{"placer", []string{"topology", "topology/nccl", "gopkg.in/yaml.v3"}, nil, "placing is pure: snapshot and request in, placement out"},
		{"probe/...", nil, []string{"placer/...", "exporters/...", "bench/..."}, "probes feed the map and do not know who reads it"},
		{"exporters/...", nil, []string{"probe/...", "bench/..."}, "exporters read the map and placements, never a probe"},
		{"placer/...", nil, []string{"probe/...", "exporters/...", "bench/..."}, "placements come from the map and know no scheduler's files"},
		{"topology/...", nil, []string{"os/exec", "net/http"}, "the map runs no program and opens no connection"},
		{"placer", nil, []string{"os/exec", "net", "os/signal"}, "a pure function needs no outside world"},
	}
}

// breaches lists what breaks a rule.
func (r direction) breaches(all map[string]goPackage) []string {
	var out []string
	for path, p := range all {
		if !matches(r.pkg, path) {
			continue
		}
		for _, dep := range p.Deps {
			if dep == "C" || matches(r.pkg, dep) {
				continue
			}
			is := func(n string) bool { return matches(n, dep) }
			foreign := r.allowed != nil && !all[dep].Standard && !slices.ContainsFunc(r.allowed, is)
			if foreign || slices.ContainsFunc(r.not, is) {
				out = append(out, path+" stands on "+dep+": "+r.why)
			}
		}
	}
	return out
}

func TestDependencyDirection(t *testing.T) {
	all := listPackages(t)
	for _, r := range directions() {
		for _, b := range r.breaches(all) {
			t.Error(b)
		}
	}
}

// The rules see what they forbid.
func TestDependencyDirectionCatches(t *testing.T) {
	all := map[string]goPackage{"net": {Standard: true}, "fmt": {Standard: true}, "os/exec": {Standard: true}, "example.com/x": {}}
	add := func(pkg string, deps ...string) { all[module+"/"+pkg] = goPackage{Deps: deps} }
	add("topology", "fmt", "example.com/x", module+"/probe")
	add("topology/nccl", module+"/topology", "os/exec")
	add("placer", "net", module+"/topology")
	add("probe/pair", module+"/placer/ledger")
	add("exporters/slurm", module+"/topology", module+"/probe/fabric")
	add("placer/ledger", module+"/exporters/slurm")
	for _, want := range []string{
		"topology stands on example.com/x", "topology stands on " + module + "/probe", "topology/nccl stands on os/exec", "placer stands on net",
		"probe/pair stands on " + module + "/placer/ledger", "exporters/slurm stands on " + module + "/probe/fabric",
		"placer/ledger stands on " + module + "/exporters/slurm",
	} {
		found := false
		for _, r := range directions() {
			found = found || slices.ContainsFunc(r.breaches(all), func(b string) bool { return strings.Contains(b, want) })
		}
		if !found {
			t.Errorf("no rule sees that %s", want)
		}
	}
}

// TestConfinedImports keeps heavy or dangerous imports where they belong.
func TestConfinedImports(t *testing.T) {
	rules := []struct {
		imported string
		in       []string // packages that may import it directly
		why      string
	}{
		{"github.com/prometheus/client_golang/...", []string{"", "exporters/prometheus", "placer/server", "bench"}, "metrics are made at the edge"},
		{"github.com/NVIDIA/go-nvml/...", []string{"probe"}, "NVML is cgo: one package, so that the rest builds static"},
		{"github.com/spf13/...", []string{""}, "flags belong to the command"},
		{"k8s.io/...", []string{"exporters/kubernetes/..."}, "client-go is heavy"},
		{"go.etcd.io/...", []string{"placer/ledger"}, "who holds what is decided in one package"},
	}
	all := listPackages(t)
	for _, r := range rules {
		for path, p := range all {
			ours := path == module || strings.HasPrefix(path, module+"/")
			inside := slices.ContainsFunc(r.in, func(n string) bool { return matches(n, path) })
			if !ours || inside {
				continue
			}
			for _, imp := range p.Imports {
				if matches(r.imported, imp) {
					t.Errorf("%s imports %s: %s", path, imp, r.why)
				}
			}
		}
	}
}

// matches tells whether path is the package that pattern names: "topology" is ours, "net/http" or a full path is itself,
// "" is the command.
func matches(pattern, path string) bool {
	own := strings.Trim(module+"/"+pattern, "/")
	for _, p := range []string{own, pattern} {
		if base, ok := strings.CutSuffix(p, "/..."); ok && base != "" && (path == base || strings.HasPrefix(path, base+"/")) {
			return true
		}
		if path == p {
			return true
		}
	}
	return false
}

// TestExecFiles: a package runs outside programs from its exec.go and nowhere else, so that one file shows what is run.
// The command itself runs none.
func TestExecFiles(t *testing.T) {
	eachGoFile(t, func(path string, imports []string) {
		if slices.Contains(imports, "os/exec") && filepath.Base(path) != "exec.go" && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s imports os/exec: only exec.go may", path)
		}
		if slices.Contains(imports, "C") && !strings.HasPrefix(path, "probe/") {
			t.Errorf("%s uses cgo: only probe may", path)
		}
	})
}

func eachGoFile(t *testing.T, check func(path string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			imports = append(imports, strings.Trim(i.Path.Value, `"`))
		}
		check(filepath.ToSlash(path), imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackageDocs: every package says what it is for. Folders that hold tests only are no packages to import.
func TestPackageDocs(t *testing.T) {
	for path, p := range listPackages(t) {
		ours := path == module || strings.HasPrefix(path, module+"/")
		if !ours || len(p.GoFiles)+len(p.CgoFiles) == 0 {
			continue
		}
		synopsis := ""
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				synopsis = new(doc.Package).Synopsis(f.Doc.Text())
			}
		}
		if len(synopsis) < 20 {
			t.Errorf("%s has no package comment that says what it is for", path)
		}
	}
}
