package nccl

import "testing"

func TestParseVersion(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "2.30.7"}, {"2.30", "2.30.7"}, {"2.27", "2.27.7"}, {"2.28.3", "2.28.3"}, {"v2.29.7-1", "2.29.7"},
		{"2.26.2", ""}, {"2.31", ""}, {"2.30.8", ""}, {"2.27.2", ""}, {"3.30", ""}, {"2", ""}, {"2.x", ""}, {"2.30.-1", ""}, {"2.30.7.1", ""},
	} {
		v, err := ParseVersion(tc.in)
		if tc.want == "" {
			if err == nil {
				t.Errorf("ParseVersion(%q) = %v, must be an error", tc.in, v)
			}
			continue
		}
		if err != nil || v.String() != tc.want {
			t.Errorf("ParseVersion(%q) = %v, %v; want %s", tc.in, v, err, tc.want)
		}
	}
	if !(Version{}).AtLeast(30, 7) || (Version{27, 3}).AtLeast(27, 5) || !(Version{28, 3}).AtLeast(27, 5) {
		t.Error("AtLeast orders wrongly")
	}
}
