package exporters

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// disk is what Write needs of a directory. Tests put a failing one in its place.
type disk interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	MkdirAll(name string) error
	Create(name string, mode fs.FileMode) (diskFile, error) // must not be there
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(name string) error
}

// diskFile is a file that is being written.
type diskFile interface {
	io.WriteCloser
	Sync() error
}

// rootDisk is a real directory. os.Root keeps every name inside it, also through symbolic links.
type rootDisk struct{ root *os.Root }

func (d rootDisk) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d rootDisk) ReadFile(name string) ([]byte, error)   { return d.root.ReadFile(name) }
func (d rootDisk) MkdirAll(name string) error             { return d.root.MkdirAll(name, 0o755) }
func (d rootDisk) Rename(from, to string) error           { return d.root.Rename(from, to) }
func (d rootDisk) Remove(name string) error               { return d.root.Remove(name) }

func (d rootDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(d.root.FS(), name)
}

// Create sets the mode once more after the file is there, because the umask of the caller cuts it.
func (d rootDisk) Create(name string, mode fs.FileMode) (diskFile, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d rootDisk) SyncDir(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// openDisk opens dir, and makes it first when create is set. Only one writer may hold it at a time: the lock ends with the
// process, so a crash leaves none behind. A file system without locks is used without.
func openDisk(dir string, create bool) (rootDisk, func(), error) {
	if create {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return rootDisk{}, nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return rootDisk{}, nil, err
	}
	if !create {
		return rootDisk{root}, func() { root.Close() }, nil
	}
	lock, err := root.Open(".")
	if err != nil {
		root.Close()
		return rootDisk{}, nil, err
	}
	done := func() { lock.Close(); root.Close() }
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		done()
		return rootDisk{}, nil, fmt.Errorf("%s: another railmap writes there now: try again when it is done", dir)
	}
	return rootDisk{root}, done, nil
}

// Suffixes of the files that Write makes beside NAME: the version before the last change; the new and the present version
// while a change is under way (hidden by a leading dot, so that no scheduler includes them by accident).
const (
	LastGood  = ".last-good"
	newSuffix = ".railmap-new"
	oldSuffix = ".railmap-old"
)

func hidden(name, suffix string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+suffix)
}

func isTemporary(base string) bool {
	return strings.HasPrefix(base, ".") && (strings.HasSuffix(base, newSuffix) || strings.HasSuffix(base, oldSuffix))
}

// writeFile writes a file that is not there yet down to the disk.
func writeFile(d disk, name string, data []byte, mode fs.FileMode) error {
	f, err := d.Create(name, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
