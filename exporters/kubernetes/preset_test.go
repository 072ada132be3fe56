package kubernetes

import "testing"

func TestShortPresetNames(t *testing.T) {
	for short, full := range shortNames {
		if p, err := FindPreset(short); err != nil || p.Name != full {
			t.Errorf("FindPreset(%q) = %s, %v; want %s", short, p.Name, err, full)
		}
	}
}
