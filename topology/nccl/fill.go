package nccl

import (
	"fmt"
	"strconv"
	"strings"
)

// FillOptions say what a topology file without gpu and net elements leaves out. Zero values complete nothing.
type FillOptions struct {
	SM        int // compute capability x 10 of GPUs that have no gpu element
	NVLinks   int // NVLinks from each of those GPUs to one NVSwitch; 0 = none
	SpeedMbps int // speed in Mb/s of NICs that have no net element
}

// ParseFill reads "SM=90,NVL=18,SPEED=400000"; spaces separate as commas do. "" is no completion.
func ParseFill(s string) (FillOptions, error) {
	var o FillOptions
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 100_000_000 {
			return o, fmt.Errorf("fill %q: must be KEY=NUMBER with a number from 0 to 100000000", part)
		}
		switch key {
		case "SM":
			o.SM = n
		case "NVL":
			o.NVLinks = n
		case "SPEED":
			o.SpeedMbps = n
		default:
			return o, fmt.Errorf("fill %q: the key must be SM (compute capability x 10), NVL (NVLinks a GPU) or SPEED (Mb/s a NIC)", part)
		}
	}
	return o, nil
}

// unknownSwitch is the bus id that NCCL gives an NVLink whose far end has none; it counts as an NVSwitch.
const unknownSwitch = "fffffff:ffff:ff"

// Fill returns a copy of the document in which every PCI function of class 0x03 has a gpu element and every one of class
// 0x02 a net element, as NCCL would add them on the machine: numbered in file order, with GPUDirect RDMA. What the file says
// already is kept. It fails when GPUs need an SM and none is given.
func Fill(x *XML, o FillOptions) (*XML, error) {
	x = x.Clone()
	var gpus, nics int
	var err error
	x.Root.walk(func(e *Element, _ []*Element) {
		if e.Name != "pci" || err != nil {
			return
		}
		class, _ := e.Get("class")
		switch pciKindOf(class) {
		case pciGPU:
			err = fillGPU(e, gpus, o)
			gpus++
		case pciNIC:
			nics = fillNIC(e, nics, o)
		}
	})
	return x, err
}

func fillGPU(pci *Element, number int, o FillOptions) error {
	if pci.Child("gpu") != nil {
		return nil
	}
	if o.SM == 0 {
		return pci.errorf("the GPU has no gpu element: its compute capability must be given, for example --fill SM=90,NVL=18")
	}
	n := strconv.Itoa(number)
	gpu := pci.Add("gpu", "dev", n, "sm", strconv.Itoa(o.SM), "rank", n, "gdr", "1")
	if o.NVLinks > 0 {
		gpu.Add("nvlink", "target", unknownSwitch, "count", strconv.Itoa(o.NVLinks), "tclass", "0x068000")
	}
	return nil
}

// fillNIC returns the number of the next NIC: ports that the file lists count too.
func fillNIC(pci *Element, number int, o FillOptions) int {
	if nic := pci.Child("nic"); nic != nil && len(nic.Children) > 0 {
		return number + len(nic.Children)
	}
	if o.SpeedMbps == 0 {
		return number + 1
	}
	nic := pci.Child("nic")
	if nic == nil {
		nic = pci.Add("nic")
	}
	n := strconv.Itoa(number)
	nic.Add("net", "name", "mlx5_"+n, "dev", n, "speed", strconv.Itoa(o.SpeedMbps), "port", "1", "latency", "0", "gdr", "1")
	return number + 1
}
