package fabric

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Neighbor is what one interface hears by LLDP (IEEE 802.1AB) about the port at the other end of its cable.
type Neighbor struct {
	Interface string // of the system that listens: "eth0"
	System    string // name of the other system, its chassis id when it has none
	Port      string // its port: "swp1"
	Host      bool   // the other system calls itself a station and neither bridge nor router
}

// Limits of one answer of lldpcli: a chassis switch has some hundreds of neighbors.
const (
	maxLLDPBytes     = 16 << 20
	maxLLDPNeighbors = 1 << 16
)

// ParseLLDP reads what "lldpcli -f json0 show neighbors" prints, and the form of "-f json", in which names are keys and a
// list of one is the thing itself. What changes from call to call (age, numbers of neighbors) is not read. Neighbors come by
// interface name, then system and port.
func ParseLLDP(r io.Reader, name string) ([]Neighbor, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxLLDPBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxLLDPBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes: must be what one lldpcli prints", name, maxLLDPBytes)
	}
	var doc struct {
		LLDP any `json:"lldp"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		line := 1
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			line += strings.Count(string(data[:min(e.Offset, int64(len(data)))]), "\n")
		}
		return nil, fmt.Errorf("%s:%d: %s; must be what lldpcli -f json0 show neighbors prints", name, line, strings.TrimPrefix(err.Error(), "json: "))
	}
	if doc.LLDP == nil {
		return nil, fmt.Errorf("%s: no \"lldp\": must be what lldpcli -f json0 show neighbors prints", name)
	}
	var out []Neighbor
	for _, part := range list(doc.LLDP) {
		for _, entry := range list(object(part)["interface"]) {
			out = append(out, neighbors(object(entry))...)
			if len(out) > maxLLDPNeighbors {
				return nil, fmt.Errorf("%s: more than %d neighbors", name, maxLLDPNeighbors)
			}
		}
	}
	slices.SortFunc(out, func(a, b Neighbor) int {
		return cmp.Or(topology.CompareNames(a.Interface, b.Interface), topology.CompareNames(a.System, b.System), topology.CompareNames(a.Port, b.Port))
	})
	return slices.Compact(out), nil
}

// neighbors reads one entry: with its name inside (json0), or one for each key (json).
func neighbors(entry map[string]any) []Neighbor {
	if name, ok := entry["name"].(string); ok {
		return oneNeighbor(name, entry)
	}
	var out []Neighbor
	for name, body := range entry {
		for _, b := range list(body) {
			out = append(out, oneNeighbor(name, object(b))...)
		}
	}
	return out
}

// oneNeighbor is empty for an entry that does not say who is there.
func oneNeighbor(iface string, body map[string]any) []Neighbor {
	n := Neighbor{Interface: cleanName(iface)}
	chassis := object(first(body["chassis"]))
	if name, named := onlyKey(chassis); named {
		n.System, chassis = cleanName(name), object(chassis[name])
	}
	n.System = cmp.Or(n.System, value(chassis["name"]), value(chassis["id"]))
	port := object(first(body["port"]))
	id := object(first(port["id"]))
	n.Port = value(port["id"])
	if t, _ := id["type"].(string); t != "ifname" { // a MAC or a number: the name, if any, is the description
		n.Port = cmp.Or(value(port["descr"]), n.Port)
	}
	station, forwards := false, false
	for _, c := range list(chassis["capability"]) {
		on, _ := object(c)["enabled"].(bool)
		switch object(c)["type"] {
		case "Station":
			station = on
		case "Bridge", "Router":
			forwards = forwards || on
		}
	}
	n.Host = station && !forwards
	if n.Interface == "" || n.System == "" || n.Port == "" {
		return nil
	}
	return []Neighbor{n}
}

// onlyKey is the name of a chassis where it is a key (json): its value is an object without a value of its own. A chassis
// without name holds its id there; in json0 there are lists.
func onlyKey(chassis map[string]any) (string, bool) {
	for name, c := range chassis {
		m, isObject := c.(map[string]any)
		_, isID := m["value"]
		return name, isObject && !isID && len(chassis) == 1
	}
	return "", false
}

func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func first(v any) any {
	if l := list(v); len(l) > 0 {
		return l[0]
	}
	return nil
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// value is a text, alone or below "value", alone or first of a list.
func value(v any) string {
	switch v := first(v).(type) {
	case string:
		return cleanName(v)
	case map[string]any:
		s, _ := v["value"].(string)
		return cleanName(s)
	}
	return ""
}

// cleanName keeps control bytes and endless names of strangers out of reports.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\ufffd' {
			return -1
		}
		return r
	}, s)
	if len(s) > 255 {
		s = strings.ToValidUTF8(s[:255], "")
	}
	return strings.TrimSpace(s)
}
