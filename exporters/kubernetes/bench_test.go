package kubernetes

import "testing"

// BenchmarkLabels renders the labels of a cluster of 16,384 nodes.
func BenchmarkLabels(b *testing.B) {
	top := fabric(16, 32, 32, false)
	for b.Loop() {
		files, err := Labels(top, Options{Preset: "topograph-v1"})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(files[0].Data)))
	}
}

// BenchmarkReadLabels reads the labels of 16,384 nodes back.
func BenchmarkReadLabels(b *testing.B) {
	files, err := Labels(fabric(16, 32, 32, false), Options{Preset: "topograph-v1"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(files[0].Data)))
	for b.Loop() {
		if _, err := ReadLabels(files[0].Data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLint reads the same file as strictly as it can.
func BenchmarkLint(b *testing.B) {
	files, err := Labels(fabric(16, 32, 32, false), Options{Preset: "topograph-v1"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(files[0].Data)))
	for b.Loop() {
		if p := Lint(files[0].Data); len(p) > 0 {
			b.Fatal(p)
		}
	}
}
