package probe

import "github.com/railmap/railmap/topology"

// PathMatrix is the square of path letters, with what was measured between GPUs.
type PathMatrix struct {
	Names     []string     // GPUs by index, then RDMA devices
	GPUs      int          // the first of Names that are GPUs
	Letters   [][]string   // "" where the place of one end is not known
	CPUs      []string     // of the NUMA node of each
	NUMA      []*int       // of each
	Bandwidth [][]*float64 // bytes per second one way between GPUs, row to column; nil where nothing was measured
}

// Matrix lays the paths of a report out as nvidia-smi topo -m does.
func Matrix(r *topology.NodeReport) *PathMatrix {
	rows := endpoints(r)
	m := &PathMatrix{GPUs: len(r.GPUs)}
	at := map[string]int{}
	for i, row := range rows {
		at[row.name] = i
		m.Names = append(m.Names, row.name)
		m.NUMA = append(m.NUMA, row.numa)
		cpus := ""
		for _, n := range r.NUMANodes {
			if row.numa != nil && n.ID == *row.numa {
				cpus = n.CPUs
			}
		}
		m.CPUs = append(m.CPUs, cpus)
		m.Letters = append(m.Letters, make([]string, len(rows)))
		m.Letters[i][i] = pathSelf
	}
	for _, p := range r.Paths {
		i, knownA := at[p.A]
		j, knownB := at[p.B]
		if knownA && knownB {
			m.Letters[i][j], m.Letters[j][i] = p.Type, p.Type
		}
	}
	for range m.GPUs {
		m.Bandwidth = append(m.Bandwidth, make([]*float64, m.GPUs))
	}
	for _, c := range r.Measurements.Copies {
		i, knownA := at[c.From]
		j, knownB := at[c.To]
		if knownA && knownB && i < m.GPUs && j < m.GPUs && !c.Bidirectional && !c.Together {
			m.Bandwidth[i][j] = new(c.BandwidthBytesPerSecond.Value)
		}
	}
	return m
}

// Measured tells whether any bandwidth is known.
func (m *PathMatrix) Measured() bool {
	for _, row := range m.Bandwidth {
		for _, v := range row {
			if v != nil {
				return true
			}
		}
	}
	return false
}
