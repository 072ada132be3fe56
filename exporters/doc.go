// Package exporters holds what all exporters share: a rendered file, and how a set of files is written to a directory
// without ever losing the last good one. The exporters themselves are in the folders below, one per target.
//
// Write promises, for each file: a reader sees the whole old or the whole new version, never a part; a file whose bytes do
// not change is not touched; the version before the last change stays beside it as NAME.last-good; an empty file, or one that
// describes far fewer nodes than the present one, is refused. After an error, everything is as it was before the call.
//
//	changes, err := exporters.Write("/etc/slurm", files, exporters.WriteOptions{Target: "slurm"})
//
// What a file describes stands beside it in .railmap.json, so that no body carries a time or a host name and Git stays quiet.
// Check compares without writing.
package exporters

// File is one rendered file. Name is relative to the output directory and has no "..".
type File struct {
	Name  string
	Data  []byte
	Nodes int // nodes that the file describes; the guard against suspiciously shrunk files compares it
}
