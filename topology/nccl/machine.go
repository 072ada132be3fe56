package nccl

import "strings"

// cpuArch and cpuVendor are the processor families that NCCL tells apart (facts of the first cpu hold for the whole host).
type cpuArch int

const (
	archUnknown cpuArch = iota
	archX86
	archPower
	archARM
)

type cpuVendor int

const (
	vendorUnknown cpuVendor = iota
	vendorIntel
	vendorAMD
	vendorZhaoxin
)

func archOf(s string) cpuArch {
	switch s {
	case "x86_64":
		return archX86
	case "ppc64":
		return archPower
	case "arm64":
		return archARM
	}
	return archUnknown
}

func vendorOf(s string) cpuVendor {
	switch s {
	case "GenuineIntel":
		return vendorIntel
	case "AuthenticAMD":
		return vendorAMD
	case "CentaurHauls", "  Shanghai  ":
		return vendorZhaoxin
	}
	return vendorUnknown
}

// interSocketGBps is what NCCL counts for the link between two sockets, by processor of the first one (GB/s).
func interSocketGBps(arch cpuArch, vendor cpuVendor, family, model int) float32 {
	switch {
	case arch == archPower:
		return 32
	case arch == archARM:
		return 6
	case arch != archX86:
		return localGBps
	}
	switch vendor {
	case vendorAMD:
		return 16
	case vendorZhaoxin:
		if family == 7 && model == 0x5b { // Yongfeng
			return 9
		}
		return 6
	case vendorIntel:
		switch {
		case family == 6 && model >= 0xcf: // Emerald Rapids and later
			return 40
		case family == 6 && model >= 0x8f: // Sapphire Rapids
			return 22
		case family == 6 && model >= 0x55: // Skylake
			return 10
		}
		return 6
	}
	return localGBps
}

// localGBps is the bandwidth inside one device: more than any link.
const localGBps = 5000

// partitionGBps joins two partitions of one GPU (MLOPart).
const partitionGBps = 2618

// nvlinkGBps is one NVLink of a GPU, each direction, by compute capability x 10.
func nvlinkGBps(sm int) float32 {
	switch {
	case sm >= 100:
		return 40.1
	case sm >= 90:
		return 20.6
	case sm == 86:
		return 12
	case sm >= 70:
		return 20
	case sm >= 60:
		return 18
	}
	return 20
}

// laneSpeeds are NCCL's PCIe figures per lane in units of 100 Mb/s, by the beginning of link_speed. The forms without " PCIe"
// are those of kernels up to 5.6; "16.0 GT/s" alone is none of them.
var laneSpeeds = []struct {
	prefix string
	speed  int
}{
	{"2.5 GT/s", 15}, {"5 GT/s", 30}, {"8 GT/s", 60}, {"16 GT/s", 120}, {"32 GT/s", 240},
	{"5.0 GT/s PCIe", 30}, {"8.0 GT/s PCIe", 60}, {"16.0 GT/s PCIe", 120}, {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480},
}

// laneSpeed returns 0 for a text that NCCL does not know.
func laneSpeed(s string) int {
	for _, l := range laneSpeeds {
		if strings.HasPrefix(s, l.prefix) {
			return l.speed
		}
	}
	return 0
}

// unknownLaneSpeed is what NCCL takes for a speed it does not know: PCIe Gen3.
const unknownLaneSpeed = 60

// pcieGBps is the bandwidth of a PCIe link in one direction: 12 GB/s for Gen3 x16. Width 0 counts as 16.
func pcieGBps(speed string, width int) float32 {
	lane := laneSpeed(speed)
	if lane == 0 {
		lane = unknownLaneSpeed
	}
	if width == 0 {
		width = 16
	}
	return float32(float64(width*lane) / 80)
}

// pciKind is what NCCL makes of a PCI class.
type pciKind int

const (
	pciSwitch pciKind = iota // everything unknown too
	pciNVSwitch
	pciBridgeToCPU
	pciGPU
	pciNIC
)

func pciKindOf(class string) pciKind {
	switch {
	case strings.HasPrefix(class, "0x068000"):
		return pciNVSwitch
	case strings.HasPrefix(class, "0x068001"): // IBM's NVLink bridge
		return pciBridgeToCPU
	case strings.HasPrefix(class, "0x03"):
		return pciGPU
	case strings.HasPrefix(class, "0x02"):
		return pciNIC
	}
	return pciSwitch
}
