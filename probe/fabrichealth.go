package probe

import "fmt"

// Fields of the fabric health mask of NVML (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*). Most are two bits wide: 0 not supported,
// 1 the bad state holds, 2 it does not. So 0xaa is a healthy GPU.
const (
	healthBad = 1

	configurationShift, configurationBits = 8, 4
	partitionShift                        = 12
)

// DecodeFabricHealth spells the problems in a fabric health mask; empty when it shows none.
func DecodeFabricHealth(mask uint32) []string {
	var out []string
	for i, name := range []string{"degraded bandwidth", "route recovery in progress", "route unhealthy", "access timeout recovery"} {
		if mask>>(2*i)&3 == healthBad {
			out = append(out, name)
		}
	}
	// The configuration field is a number: 0 not supported, 1 correct, others name what is wrong.
	names := []string{"", "", "system guid differs", "chassis serial differs", "no partition", "too few NVLinks", "GPU firmware differs",
		"wrong location", "wrong GPU state"}
	if v := int(mask >> configurationShift & (1<<configurationBits - 1)); v >= len(names) {
		out = append(out, fmt.Sprintf("incorrect configuration %d", v))
	} else if names[v] != "" {
		out = append(out, "incorrect configuration: "+names[v])
	}
	if mask>>partitionShift&3 == 2 {
		out = append(out, "no partition assigned")
	}
	return out
}
