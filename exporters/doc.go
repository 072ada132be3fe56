// Package exporters holds what all exporters share: a rendered file, and how a set of files is written to a directory
// without ever losing the last good one. The exporters themselves are in the folders below, one per target.
package exporters

// File is one rendered file. Name is relative to the output directory and has no "..".
type File struct {
	Name  string
	Data  []byte
	Nodes int // nodes that the file describes; the guard against suspiciously shrunk files compares it
}
