package fabric

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// counterRule says from which count on a counter of ibqueryerrors becomes a finding. Counters run since somebody cleared them,
// so the limits are modest: what a healthy link collects over weeks of reboots and hot plugs stays below them.
type counterRule struct {
	counter, code string
	above         uint64
	message       string
	remedy        string
}

func counterRules() []counterRule {
	return []counterRule{
		{"SymbolErrorCounter", CodeSymbolErrors, 10, "symbol errors since the counters were cleared", "clean or reseat the cable; clear the counters and look again"},
		{"LinkDownedCounter", CodeLinkDowned, 2, "times down since the counters were cleared", "look for a flapping link: reseat or replace the cable"},
		{"LinkErrorRecoveryCounter", CodeLinkRecoveries, 1, "link retrainings since the counters were cleared", "clean or reseat the cable; clear the counters and look again"},
		{"PortRcvErrors", CodeReceiveErrors, 10, "packets received with errors since the counters were cleared", "clean or reseat the cable; clear the counters and look again"},
	}
}

// MergeErrors reads ibqueryerrors (plain, --details, --report-port or --data) and adds its counters to the ports of a report,
// with findings for those above our limits. Counters keep the tool's names and units: PortXmitData and PortRcvData count 4
// bytes each. Ports that the report does not have are findings. An exit code 1 of the tool only means that it found something.
//
//	Errors for 0x2c90200000000 "leaf0"
//	   GUID 0x2c90200000000 port 1: [SymbolErrorCounter == 57] [LinkDownedCounter == 3]
func MergeErrors(rep *topology.FabricReport, r io.Reader, name string) error {
	br, err := plain(r, name)
	if err != nil {
		return err
	}
	m := &errorMerger{rep: rep, byGUID: make(map[topology.GUID]int, 2*len(rep.Devices))}
	for i := range rep.Devices {
		d := &rep.Devices[i]
		for _, p := range d.Ports {
			if p.GUID != 0 && d.Kind != topology.SwitchDevice {
				m.byGUID[p.GUID] = i
			}
		}
	}
	for i := range rep.Devices { // node GUIDs win over port GUIDs
		if g := rep.Devices[i].GUID; g != 0 {
			m.byGUID[g] = i
		}
	}
	l := newLines(br, name)
	if err := m.read(l); err != nil {
		return err
	}
	slices.SortFunc(m.findings, func(a, b topology.Finding) int { return strings.Compare(a.Subject, b.Subject) })
	rep.Findings = topology.SortFindings(append(rep.Findings, m.findings...))
	return nil
}

type errorMerger struct {
	rep      *topology.FabricReport
	byGUID   map[topology.GUID]int
	findings []topology.Finding
}

func (m *errorMerger) read(l *lines) error {
	known := false
	for {
		b, ok, err := l.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b = bytes.TrimSpace(b)
		switch {
		case len(b) == 0:
		case bytes.HasPrefix(b, []byte("GUID ")):
			guid, port, counters, ok := counterLine(b)
			if !ok {
				m.skip(l, b)
				continue
			}
			known = true
			if port >= 0 {
				m.add(guid, port, counters)
			}
		case bytes.HasPrefix(b, []byte("##")), bytes.HasPrefix(b, []byte("Errors for ")), bytes.HasPrefix(b, []byte("Data Counters for ")):
			known = true
		case bytes.HasPrefix(b, []byte("Link info:")), bytes.HasPrefix(b, []byte("#")):
		default:
			m.skip(l, b)
		}
	}
	if !known {
		return fmt.Errorf("%s: no counters: %s; must be the output of ibqueryerrors", l.name, looksLike(l.head))
	}
	return nil
}

func (m *errorMerger) skip(l *lines, b []byte) {
	if len(m.findings) < maxPerCode {
		m.findings = append(m.findings, topology.Finding{Code: CodeLineNotUnderstood, Severity: topology.Warning, Subject: fmt.Sprintf("%s:%d", l.name, l.no),
			Message: fmt.Sprintf("line skipped: %q", clip(b)), Remedy: "must be a line of ibqueryerrors; counters on it are missing"})
	}
}

// counterLine reads "GUID 0x2c90200000000 port 1: [NAME == N] [NAME == N (3.2KB)]"; port -1 stands for ALL.
func counterLine(b []byte) (guid topology.GUID, port int, counters map[string]uint64, ok bool) {
	head, rest, ok := bytes.Cut(b, []byte(": "))
	f := bytes.Fields(head)
	if !ok || len(f) != 4 || string(f[2]) != "port" {
		return 0, 0, nil, false
	}
	g, n, ok := hex(f[1], 0)
	if !ok || n != len(f[1]) {
		return 0, 0, nil, false
	}
	if string(f[3]) == "ALL" {
		return topology.GUID(g), -1, nil, true
	}
	port, n = decimal(f[3], 0)
	if port < 0 || port > maxPort || n != len(f[3]) {
		return 0, 0, nil, false
	}
	counters = map[string]uint64{}
	for len(counters) < 128 {
		_, after, found := bytes.Cut(rest, []byte("["))
		if !found {
			break
		}
		item, tail, closed := bytes.Cut(after, []byte("]"))
		key, value, is := bytes.Cut(item, []byte(" == "))
		if !closed || !is || len(key) > 64 {
			return 0, 0, nil, false
		}
		v, digits := uint64(0), 0
		for digits < len(value) && value[digits]-'0' <= 9 {
			v = v*10 + uint64(value[digits]-'0')
			digits++
		}
		if digits == 0 || digits > 19 {
			return 0, 0, nil, false
		}
		counters[string(key)] = v
		rest = tail
	}
	return topology.GUID(g), port, counters, true
}

func (m *errorMerger) add(guid topology.GUID, port int, counters map[string]uint64) {
	i, ok := m.byGUID[guid]
	if !ok {
		m.findings = append(m.findings, topology.Finding{Code: CodeUnknownPort, Severity: topology.Warning, Subject: fmt.Sprintf("%s:%d", guid, port),
			Message: "has error counters but is not in the fabric report", Remedy: "read fabric and counters at one time"})
		return
	}
	d := &m.rep.Devices[i]
	at, found := slices.BinarySearchFunc(d.Ports, port, func(p topology.PortInfo, n int) int { return p.Number - n })
	if !found {
		d.Ports = slices.Insert(slices.Clip(d.Ports), at, topology.PortInfo{Number: port})
	}
	p := &d.Ports[at]
	if p.Counters == nil {
		p.Counters = counters
	} else {
		for k, v := range counters {
			p.Counters[k] = max(p.Counters[k], v)
		}
	}
	subject := fmt.Sprintf("%s:%d", deviceSubject(d), port)
	for _, rule := range counterRules() {
		if v := counters[rule.counter]; v > rule.above {
			m.findings = append(m.findings, topology.Finding{Code: rule.code, Severity: topology.Warning, Subject: subject,
				Message: fmt.Sprintf("%d %s", v, rule.message), Remedy: rule.remedy})
		}
	}
}
