package probe

import "github.com/Mellanox/rdmamap"

// kernelMapper asks the running kernel through rdmamap, which knows the ways in which drivers tie the two together. Its
// paths are fixed, so it serves the root "/" only; recorded trees use treeMapper.
type kernelMapper struct {
	fallback *treeMapper
}

func (m kernelMapper) rdmaOf(netdev string) string {
	if len(m.fallback.names) == 0 {
		return ""
	}
	if dev, err := rdmamap.GetRdmaDeviceForNetdevice(netdev); err == nil && dev != "" {
		return dev
	}
	return m.fallback.rdmaOf(netdev)
}

func (m kernelMapper) devices() []string { return rdmamap.GetRdmaDeviceList() }
