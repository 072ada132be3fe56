package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// GUID is a 64-bit InfiniBand node, port or system image identifier (EUI-64). Zero means unknown and is left out of documents.
type GUID uint64

// ParseGUID reads "0xe09d730300156ff6", "e09d730300156ff6" or the sysfs form "e09d:7303:0015:6ff6", in any case.
func ParseGUID(s string) (GUID, error) {
	hex := strings.ReplaceAll(strings.TrimSpace(s), ":", "")
	hex = strings.TrimPrefix(strings.TrimPrefix(hex, "0x"), "0X")
	if hex == "" || len(hex) > 16 {
		return 0, fmt.Errorf("guid %q: must be 1 to 16 hexadecimal digits, such as 0xe09d730300156ff6", s)
	}
	v, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("guid %q: must be 1 to 16 hexadecimal digits, such as 0xe09d730300156ff6", s)
	}
	return GUID(v), nil
}

// String prints the GUID as ibnetdiscover does: 0x and 16 lower-case digits.
func (g GUID) String() string {
	const digits = "0123456789abcdef"
	var b [18]byte
	b[0], b[1] = '0', 'x'
	for i := 17; i >= 2; i-- {
		b[i] = digits[g&0xf]
		g >>= 4
	}
	return string(b[:])
}

// MarshalText makes GUIDs strings in JSON and YAML.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGUID reads.
func (g *GUID) UnmarshalText(b []byte) error {
	v, err := ParseGUID(string(b))
	*g = v
	return err
}
