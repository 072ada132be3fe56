package nccl

import (
	"fmt"
	"strconv"
)

// Fuse makes one document of the hosts of an NVLink domain, as NCCL does for multi-node NVLink: all their GPUs are one node,
// joined by the same NVSwitches, and NICs and processors stay those of their host. Every document must be of one host and
// complete (see Fill). Ranks follow the order of the hosts.
func Fuse(hosts ...*XML) (*XML, error) {
	if len(hosts) == 0 {
		return nil, fmt.Errorf("no host to fuse: must be one or more")
	}
	all := NewXML()
	ranks := 0
	for i, h := range hosts {
		h = h.Clone()
		if err := h.oneHost(); err != nil {
			return nil, fmt.Errorf("host %d: %w", i, err)
		}
		first := ranks
		h.Root.walk(func(e *Element, _ []*Element) {
			switch e.Name {
			case "cpu":
				e.Set("host_hash", "0x"+strconv.FormatInt(int64(i)+1, 16))
			case "gpu":
				e.Set("rank", strconv.Itoa(ranks))
				ranks++
			}
		})
		if ranks == first {
			return nil, fmt.Errorf("host %d has no gpu element: complete the document first", i)
		}
		all.Root.Children = append(all.Root.Children, h.Root.Children...)
	}
	return all, nil
}

// oneHost checks that all processors have the same host hash.
func (x *XML) oneHost() error {
	var first *Element
	for _, e := range x.Root.Children {
		if e.Name != "cpu" {
			continue
		}
		if first == nil {
			first = e
		}
		a, _ := first.Get("host_hash")
		b, _ := e.Get("host_hash")
		if a != b {
			return e.errorf("host_hash is %q and that of the first cpu %q: must be one host", b, a)
		}
	}
	return nil
}
