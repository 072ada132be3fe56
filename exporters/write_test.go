package exporters

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func file(name, data string, nodes int) File {
	return File{Name: name, Data: []byte(data), Nodes: nodes}
}

// tree reads all files below dir, hidden ones too, without the record.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == RecordName {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		got[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func mustWrite(t *testing.T, dir string, opts WriteOptions, files ...File) []Change {
	t.Helper()
	changes, err := Write(dir, files, opts)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestWriteKeepsTheLastGoodVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	opts := WriteOptions{Target: "slurm", ToolVersion: "1"}
	for i, body := range []string{"one\n", "two\n", "three\n"} {
		got := mustWrite(t, dir, opts, file("topology.conf", body, 10), file("sub/fragment.conf", "same\n", 0))
		wantKind := []ChangeKind{Created, Updated, Updated}[i]
		if got[0].Kind != wantKind {
			t.Errorf("write %d: %v, want %s", i, got[0], wantKind)
		}
	}
	want := map[string]string{"topology.conf": "three\n", "topology.conf.last-good": "two\n", "sub/fragment.conf": "same\n"}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestWriteLeavesUnchangedFilesAlone(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, WriteOptions{ToolVersion: "1"}, file("a", "same\n", 3))
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"a", RecordName} {
		if err := os.Chtimes(filepath.Join(dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	changes := mustWrite(t, dir, WriteOptions{ToolVersion: "2"}, file("a", "same\n", 3))
	if changes[0].Kind != Unchanged || Summary(changes) != "1 unchanged" {
		t.Errorf("changes = %v, %s", changes, Summary(changes))
	}
	for _, name := range []string{"a", RecordName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.ModTime().Equal(past) {
			t.Errorf("%s was touched at %v (%v)", name, info.ModTime(), err)
		}
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, WriteOptions{}, file("a", "one\n", 1))
	if err := os.Chmod(filepath.Join(dir, "a"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, dir, WriteOptions{}, file("a", "two\n", 1))
	info, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v (%v), want 0600", info.Mode(), err)
	}
}

func TestWriteRefusesLoss(t *testing.T) {
	tests := []struct {
		name   string
		before []File
		now    []File
		ok     bool
	}{
		{"empty", nil, []File{file("a", "", 5)}, false},
		{"blank", nil, []File{file("a", "\n \n", 5)}, false},
		{"fewer than 90 %", []File{file("a", "x\n", 100)}, []File{file("a", "y\n", 89)}, false},
		{"90 %", []File{file("a", "x\n", 100)}, []File{file("a", "y\n", 90)}, true},
		{"same bytes, fewer nodes", []File{file("a", "x\n", 100)}, []File{file("a", "x\n", 1)}, false},
		{"one bad file stops all", []File{file("a", "x\n", 9), file("b", "x\n", 9)}, []File{file("a", "y\n", 9), file("b", "y\n", 0)}, false},
		{"shrunk under another name", []File{file("a", "x\n", 100)}, []File{file("b", "y\n", 50)}, false},
		{"moved to another name", []File{file("a", "x\n", 100)}, []File{file("b", "y\n", 100)}, true},
		{"grown", []File{file("a", "x\n", 1)}, []File{file("a", "y\n", 9000)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			opts := WriteOptions{Target: "slurm"}
			if tt.before != nil {
				mustWrite(t, dir, opts, tt.before...)
			}
			was := tree(t, dir)
			_, err := Write(dir, tt.now, opts)
			if (err == nil) != tt.ok {
				t.Fatalf("err = %v, want ok %v", err, tt.ok)
			}
			if err != nil {
				if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--force") {
					t.Errorf("err = %v, want ErrRefused that says --force", err)
				}
				if d := cmp.Diff(was, tree(t, dir)); d != "" {
					t.Error(d)
				}
			}
			opts.Force = true
			mustWrite(t, dir, opts, tt.now...)
		})
	}
}

func TestWriteRefusesToReplaceALargeForeignFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "topology.conf"), []byte(strings.Repeat("SwitchName=x\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, []File{file("topology.conf", "SwitchName=a\n", 4)}, WriteOptions{}); !errors.Is(err, ErrRefused) {
		t.Errorf("err = %v, want ErrRefused", err)
	}
	got := mustWrite(t, dir, WriteOptions{}, file("topology.conf", strings.Repeat("SwitchName=a\n", 60), 4))
	if !strings.Contains(got[0].Note, "topology.conf.last-good") {
		t.Errorf("note = %q, want where the foreign file is kept", got[0].Note)
	}
}

func TestWriteRefusesUnsafeNames(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", "../a", "/etc/passwd", "a/../../b", "a//b", "./a", "a\\b", "a\x00", "a\nb",
		RecordName, "a.last-good", ".a.railmap-new", "sub/.a.railmap-old",
	} {
		dir := t.TempDir()
		_, err := Write(dir, []File{file(name, "x\n", 1)}, WriteOptions{Force: true})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("name %q: err = %v, want ErrRefused", name, err)
		}
		if got := tree(t, dir); len(got) > 0 {
			t.Errorf("name %q: wrote %v", name, got)
		}
	}
	if _, err := Write(t.TempDir(), []File{file("a", "x\n", 1), file("a", "y\n", 1)}, WriteOptions{}); !errors.Is(err, ErrRefused) {
		t.Errorf("one name twice: err = %v, want ErrRefused", err)
	}
}

func TestWriteFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("keep\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, link, to, file string }{
		{"file", "a", secret, "a"},
		{"dangling", "a", filepath.Join(outside, "nowhere"), "a"},
		{"folder", "sub", outside, "sub/secret"},
		{"inside", "a", "b", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(tt.to, filepath.Join(dir, tt.link)); err != nil {
				t.Fatal(err)
			}
			_, err := Write(dir, []File{file(tt.file, "x\n", 1)}, WriteOptions{Force: true})
			if !errors.Is(err, ErrRefused) {
				t.Errorf("err = %v, want ErrRefused", err)
			}
		})
	}
	if got := tree(t, outside); len(got) != 1 || got["secret"] != "keep\n" {
		t.Errorf("outside the directory: %v", got)
	}
}

func TestWriteRetiresFilesOfTheTargetOnly(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, WriteOptions{Target: "slurm"}, file("topology.yaml", "old\n", 8))
	mustWrite(t, dir, WriteOptions{Target: "pbs"}, file("nodes.qmgr", "pbs\n", 8))
	changes := mustWrite(t, dir, WriteOptions{Target: "slurm"}, file("topology.conf", "new\n", 8))
	if len(changes) != 2 || changes[1].Kind != Removed || changes[1].Name != "topology.yaml" {
		t.Errorf("changes = %v", changes)
	}
	want := map[string]string{"topology.conf": "new\n", "topology.yaml.last-good": "old\n", "nodes.qmgr": "pbs\n"}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestWriteRefusesADamagedRecord(t *testing.T) {
	for _, rec := range []string{"", "{", `{"files":null}`, `{"files":{"../../etc/passwd":{"target":"slurm","nodes":1,"sha256":""}}}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RecordName), []byte(rec), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Write(dir, []File{file("a", "x\n", 1)}, WriteOptions{Target: "slurm"})
		if err == nil || !strings.Contains(err.Error(), RecordName) {
			t.Errorf("record %q: err = %v, want one that names it", rec, err)
		}
		if got := tree(t, dir); len(got) > 0 {
			t.Errorf("record %q: wrote %v", rec, got)
		}
	}
}

func TestWriteOneAtATime(t *testing.T) {
	dir := t.TempDir()
	_, done, err := openDisk(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, []File{file("a", "x\n", 1)}, WriteOptions{}); err == nil || !strings.Contains(err.Error(), "another railmap") {
		t.Errorf("err = %v, want that another one writes", err)
	}
	done()
	mustWrite(t, dir, WriteOptions{}, file("a", "x\n", 1))
}

func TestCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	files := []File{file("a", "one\ntwo\nthree\n", 3), file("b", "same\n", 0), file("c", "gone\n", 0)}
	drift, err := Check(dir, files)
	if err != nil || !drift.Differs() || !strings.Contains(drift.Diff, "+two\n") || Summary(drift.Changes) != "3 created" {
		t.Errorf("absent directory: %+v, %v", drift, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("check made the directory: %v", err)
	}
	mustWrite(t, dir, WriteOptions{Target: "x"}, files...)
	was := tree(t, dir)
	if drift, err := Check(dir, files); err != nil || drift.Differs() || Summary(drift.Changes) != "3 unchanged" {
		t.Errorf("no change: %+v, %v", drift, err)
	}
	drift, err = Check(dir, []File{file("a", "one\n2\nthree\n", 2), files[1]})
	want := Drift{
		Changes: []Change{
			{Name: "a", Kind: Updated, NodesBefore: 3, Nodes: 2, Note: "-1 +1 lines"},
			{Name: "b", Kind: Unchanged},
			{Name: "c", Kind: Removed},
		},
		Diff: "diff a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" +
			"diff a/c /dev/null\n--- a/c\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n",
	}
	if d := cmp.Diff(want, drift); err != nil || d != "" {
		t.Error(err, d)
	}
	if got := drift.Changes[0].String(); got != "a updated: 2 nodes, 3 before (-1 +1 lines)" {
		t.Errorf("in words: %s", got)
	}
	if d := cmp.Diff(was, tree(t, dir)); d != "" {
		t.Error("check changed the directory", d)
	}
	if _, err := Check(dir, []File{file("../a", "", 0)}); !errors.Is(err, ErrRefused) {
		t.Errorf("name outside: %v", err)
	}
}
