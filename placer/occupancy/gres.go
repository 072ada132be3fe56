package occupancy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// gpus are the GPUs that a generic-resource text of Slurm names.
type gpus struct {
	count   int
	indices []int // sorted; nil when the text does not tell all of them
	shards  int   // parts of GPUs (gres/shard)
}

// parseGres reads texts such as "gpu:h100:8(S:0-1)", "gpu:h100:4(IDX:0-3)", "gpu:a100:2(IDX:0,3),shard:h100:4(4/8,0/8)",
// "gres/gpu:8" and "(null)" (gres.conf(5), scontrol(1)). Resources that are not GPUs are skipped.
func parseGres(s string) (gpus, error) {
	var g gpus
	if len(s) > 1<<16 {
		return gpus{}, fmt.Errorf("gres is %d bytes long: must be at most %d", len(s), 1<<16)
	}
	told := true
	for _, item := range splitGres(s) {
		plain, detail, _ := strings.Cut(item, "(")
		plain = strings.TrimPrefix(strings.TrimPrefix(plain, "gres/"), "gres:")
		name, count, err := gresCount(plain)
		if err != nil {
			return gpus{}, err
		}
		switch name {
		case "gpu":
			indices, err := gresIndices(detail)
			if err != nil {
				return gpus{}, err
			}
			g.count += count
			g.indices = append(g.indices, indices...)
			told = told && len(indices) == count
		case "shard":
			g.shards += count
		}
	}
	if g.count > topology.MaxNodeGPUs {
		return gpus{}, fmt.Errorf("%d GPUs: must be at most %d", g.count, topology.MaxNodeGPUs)
	}
	slices.Sort(g.indices)
	if distinct := slices.Compact(slices.Clone(g.indices)); !told || len(distinct) != g.count {
		g.indices = nil
	}
	return g, nil
}

// splitGres splits at commas outside of parentheses.
func splitGres(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			if item := strings.TrimSpace(s[start:i]); item != "" {
				out = append(out, item)
			}
			start = i + 1
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
		}
	}
	return out
}

// gresCount reads "gpu", "gpu:8", "gpu:h100:8", "gpu=8", "gpu:h100=8"; without a number it is one.
func gresCount(s string) (name string, count int, err error) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '=' })
	if len(parts) == 0 {
		return "", 0, nil // "(null)"
	}
	if name = parts[0]; name != "gpu" && name != "shard" {
		return name, 0, nil
	}
	last := parts[len(parts)-1]
	if len(parts) == 1 || last[0] < '0' || last[0] > '9' || strings.Contains(last, ".") && len(parts) == 2 {
		return name, 1, nil // "gpu", "gpu:h100", "gpu:1g.10gb"
	}
	count, err = strconv.Atoi(last)
	if err != nil || count > 1<<16 {
		return name, 0, fmt.Errorf("gres %q: must end in a count of at most %d", clip(s, 40), 1<<16)
	}
	return name, count, nil
}

// gresIndices reads "IDX:0-3,6)"; other details and N/A have none.
func gresIndices(detail string) ([]int, error) {
	list, ok := strings.CutPrefix(detail, "IDX:")
	if !ok {
		return nil, nil
	}
	list = strings.TrimSuffix(list, ")")
	if list == "N/A" || list == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		lo, err1 := strconv.Atoi(from)
		hi, err2 := lo, error(nil)
		if ranged {
			hi, err2 = strconv.Atoi(to)
		}
		if errors.Join(err1, err2) != nil || lo < 0 || hi < lo || hi >= topology.MaxNodeGPUs || len(out) > topology.MaxNodeGPUs {
			return nil, fmt.Errorf("gres index %q: must be numbers and ranges between 0 and %d, as 0-3,6", clip(part, 20), topology.MaxNodeGPUs-1)
		}
		for i := lo; i <= hi; i++ {
			out = append(out, i)
		}
	}
	return out, nil
}
