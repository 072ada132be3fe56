package topology

import "fmt"

// LinkSpeed is the InfiniBand generation of one lane. Zero means unknown (or Ethernet) and is left out of documents.
type LinkSpeed uint8

// Generations in rising order. FDR10 runs at QDR's signalling rate with FDR's encoding (InfiniBand Architecture, vol. 2).
const (
	SpeedUnknown LinkSpeed = iota
	SpeedSDR
	SpeedDDR
	SpeedQDR
	SpeedFDR10
	SpeedFDR
	SpeedEDR
	SpeedHDR
	SpeedNDR
	SpeedXDR
)

var speedNames = [...]string{"", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}

// laneGigabits is the data rate of one lane in Gbit/s, encoding taken off: a 4x NDR link carries 400 Gbit/s.
var laneGigabits = [...]float64{0, 2, 4, 8, 10, 13.625, 25, 50, 100, 200}

// ParseLinkSpeed reads "NDR" and the like; "" and "???" are unknown.
func ParseLinkSpeed(s string) (LinkSpeed, error) {
	if s == "???" {
		return SpeedUnknown, nil
	}
	for i, name := range speedNames {
		if s == name {
			return LinkSpeed(i), nil
		}
	}
	return SpeedUnknown, fmt.Errorf("speed %q: must be one of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR", s)
}

// String names the generation; unknown is "".
func (s LinkSpeed) String() string {
	if int(s) < len(speedNames) {
		return speedNames[s]
	}
	return ""
}

// BytesPerSecond is the nominal data rate one way of a link with that many lanes, 0 when unknown.
func (s LinkSpeed) BytesPerSecond(lanes int) float64 {
	if int(s) >= len(laneGigabits) || lanes < 0 {
		return 0
	}
	return laneGigabits[s] * 1e9 / 8 * float64(lanes)
}

// MarshalText makes speeds strings in JSON and YAML.
func (s LinkSpeed) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseLinkSpeed reads.
func (s *LinkSpeed) UnmarshalText(b []byte) error {
	v, err := ParseLinkSpeed(string(b))
	*s = v
	return err
}
