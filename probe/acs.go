package probe

import "encoding/binary"

const (
	extendedStart = 0x100  // extended capabilities begin here (PCI Express base specification, 7.6)
	acsCapability = 0x000d // access control services
	// acsRedirect are the control bits that send peer-to-peer traffic up to the root complex: request redirect (2),
	// completion redirect (3) and egress control (5).
	acsRedirect = 1<<2 | 1<<3 | 1<<5
)

// ParseACS looks for the access control capability in the configuration space of a PCI function and tells whether it
// redirects peer-to-peer traffic. Nil means not known: users other than root see only the first 64 bytes. A device that
// shows its extended space and has no such capability gives false.
func ParseACS(config []byte) *bool {
	if len(config) < extendedStart+4 {
		return nil
	}
	seen := map[int]bool{}
	for at := extendedStart; at >= extendedStart && at+8 <= len(config) && !seen[at]; {
		seen[at] = true
		header := binary.LittleEndian.Uint32(config[at:])
		if header == 0xffffffff {
			return nil
		}
		if header&0xffff == acsCapability {
			control := binary.LittleEndian.Uint16(config[at+6:])
			return new(control&acsRedirect != 0)
		}
		at = int(header >> 20 &^ 3)
	}
	return new(false)
}
