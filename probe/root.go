package probe

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// maxFile bounds one attribute file; /proc/cpuinfo of a large machine is the longest that is read.
const maxFile = 16 << 20

// tree reads files below one root. Symbolic links may not leave the root, so a recorded tree cannot show files of the
// machine that reads it.
type tree struct {
	root *os.Root
}

func openTree(dir string) (*tree, error) {
	if dir == "" {
		dir = "/"
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", dir, err)
	}
	return &tree{root: r}, nil
}

func (t *tree) close() { t.root.Close() }

// bytes reads a whole file; ok is false when it cannot be read, which is normal in /sys.
func (t *tree) bytes(name string) (data []byte, ok bool) {
	f, err := t.root.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxFile))
	return data, err == nil
}

// text reads a file and trims white space around it; "" when it cannot be read.
func (t *tree) text(name string) string {
	data, _ := t.bytes(name)
	return strings.TrimSpace(strings.ToValidUTF8(string(data), ""))
}

// integer reads a decimal number; nil when the file is missing or holds something else.
func (t *tree) integer(name string) *int {
	v, err := strconv.Atoi(t.text(name))
	if err != nil {
		return nil
	}
	return &v
}

// natural is integer without the kernel's -1 for "unknown".
func (t *tree) natural(name string) *int {
	if v := t.integer(name); v != nil && *v >= 0 {
		return v
	}
	return nil
}

// list names the entries of a directory, sorted as people do; nil when it cannot be read.
func (t *tree) list(name string) []string {
	f, err := t.root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	slices.SortFunc(names, topology.CompareNames)
	return names
}

// maxLinks bounds the symbolic links followed for one path, as the kernel does (40).
const maxLinks = 40

// resolve follows every symbolic link of a path below the root and gives the path without them; "" when the path does not
// exist or leaves the root.
func (t *tree) resolve(name string) string {
	done, todo := "", strings.Split(path.Clean(name), "/")
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		if next == "." || strings.HasPrefix(next, "..") {
			return ""
		}
		target, err := t.root.Readlink(next)
		if err != nil {
			done = next
			continue
		}
		if links++; links > maxLinks || path.IsAbs(target) {
			return ""
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	if !t.exists(done) {
		return ""
	}
	return done
}

func (t *tree) exists(name string) bool {
	_, err := t.root.Stat(name)
	return err == nil
}
