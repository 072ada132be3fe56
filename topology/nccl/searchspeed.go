package nccl

// Speeds that the search tries for one channel, GB/s, fastest first: inside one node and between nodes, by compute
// capability (2.30; NCCL keeps them in one table a GPU generation).
var (
	intraSpeeds      = []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	interSpeeds      = []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}
	intraSpeedsSM90  = []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	interSpeedsSM90  = []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
	intraSpeedsSM100 = []float32{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
	interSpeedsSM100 = []float32{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
)

func searchSpeeds(sm int, several bool) []float32 {
	switch {
	case sm >= 100 && several:
		return interSpeedsSM100
	case sm >= 100:
		return intraSpeedsSM100
	case sm >= 90 && several:
		return interSpeedsSM90
	case sm >= 90:
		return intraSpeedsSM90
	case several:
		return interSpeeds
	}
	return intraSpeeds
}

// Steps that a search may take before it gives up; NCCL counts steps too, so results do not depend on the machine.
const (
	budgetTotal = 1 << 19
	budgetSame  = 1 << 8  // equal channels
	budgetOther = 1 << 14 // different ones
	budgetOrder = 1 << 10 // GPUs in their own order, tried first where there is no NVSwitch
)
