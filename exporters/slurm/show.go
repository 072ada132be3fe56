package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// ParseShow reads what `scontrol show topology` prints (22.05 to 26.05) back into a Config. Nodes that a controller lists for
// upper switches and for joined blocks repeat those of the leaves and are dropped. Switches come leaves first, in the order of
// the output; BlockSizes holds the base and the sizes of joined blocks.
func ParseShow(data []byte) (Config, error) {
	var rep exporters.Problems
	h := hosts{rep: &rep, version: v2605, dots: true, left: maxHosts * maxDepth}
	var c Config
	for number, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		values, err := showValues(line)
		if err != nil {
			return Config{}, fmt.Errorf("scontrol show topology: line %d: %w", number+1, err)
		}
		h.show(&c, number+1, values)
		if exporters.Refused(rep) {
			return Config{}, fmt.Errorf("scontrol show topology: %s", rep[0])
		}
	}
	slices.Sort(c.BlockSizes)
	c.BlockSizes = slices.Compact(c.BlockSizes)
	return c, nil
}

// show adds one line of the output.
func (h *hosts) show(c *Config, line int, v map[string]string) {
	list := func(key string) []string {
		if v[key] == "" {
			return nil
		}
		return h.expand(line, key, v[key])
	}
	size, _ := number(v["BlockSize"])
	switch {
	case v["SwitchName"] != "" && v["Switches"] != "":
		c.Switches = append(c.Switches, SwitchLine{Name: v["SwitchName"], Children: list("Switches"), Line: line})
	case v["SwitchName"] != "":
		c.Switches = append(c.Switches, SwitchLine{Name: v["SwitchName"], Nodes: list("Nodes"), Line: line})
	case v["BlockName"] != "":
		c.Blocks = append(c.Blocks, BlockLine{Name: v["BlockName"], Nodes: list("Nodes"), Line: line})
		c.BlockSizes = append(c.BlockSizes, int(size))
	case v["AggregatedBlock"] != "":
		c.BlockSizes = append(c.BlockSizes, int(size))
	default:
		h.rep.Errorf(line, "show", "must start with SwitchName, BlockName or AggregatedBlock")
	}
}

// showValues cuts "SwitchName=s0 Level=0 ..." into its pairs. Names without blanks are assumed, as our own are.
func showValues(line string) (map[string]string, error) {
	values := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return nil, fmt.Errorf("%q: must be Key=value", clip(field))
		}
		values[key] = value
	}
	return values, nil
}

// Canonical sorts what has no meaning in the order of lines and lists, and forgets line numbers, so that two descriptions of
// one topology compare equal. The order of blocks means something and stays.
func (c Config) Canonical() Config {
	out := Config{BlockSizes: c.BlockSizes, BlockLevels: c.BlockLevels}
	for _, s := range c.Switches {
		out.Switches = append(out.Switches, SwitchLine{Name: s.Name, Nodes: sortedNames(s.Nodes), Children: sortedNames(s.Children)})
	}
	slices.SortFunc(out.Switches, func(a, b SwitchLine) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range c.Blocks {
		out.Blocks = append(out.Blocks, BlockLine{Name: b.Name, Nodes: sortedNames(b.Nodes)})
	}
	return out
}

func sortedNames(names []string) []string {
	out := slices.Clone(names)
	slices.SortFunc(out, byName)
	return out
}
