package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/railmap/railmap/topology"
)

// intake holds the newest reports of every source, refuses what cannot be true, and says when the map must be made anew.
type intake struct {
	log     *slog.Logger
	history *history
	keep    *keeper

	mu         sync.Mutex
	base       *topology.Topology // a map given at the start; used until a fabric report comes
	fabrics    map[string]*topology.FabricReport
	nodes      map[string]*topology.NodeReport
	pairs      map[string]*topology.PairReport
	occupancy  map[string]*topology.Occupancy
	quarantine map[string]quarantined
	old        []*topology.Topology // the last generations, oldest first
	changed    time.Time            // when the newest came
	dirty      chan struct{}
}

// quarantined is a node whose reports are not believed for a while.
type quarantined struct {
	reason string
	until  time.Time
}

const quarantineTime = time.Hour

func newIntake(opts Options, log *slog.Logger) (*intake, error) {
	h, err := openHistory(opts.DataDir)
	if err != nil {
		return nil, err
	}
	in := &intake{log: log, history: h, base: opts.Topology, fabrics: map[string]*topology.FabricReport{}, nodes: map[string]*topology.NodeReport{},
		pairs: map[string]*topology.PairReport{}, occupancy: map[string]*topology.Occupancy{}, quarantine: map[string]quarantined{}, dirty: make(chan struct{}, 1)}
	if in.keep, err = openKeeper(opts.DataDir); err != nil {
		return nil, err
	}
	if err := in.keep.restore(in); err != nil {
		log.Warn("some documents were not kept well and are left out", "err", err)
	}
	return in, nil
}

// recall takes in the newest report that is kept of every node, unless the node has reported since. It runs beside the first
// requests: 10,000 reports take some seconds to read.
func (in *intake) recall() {
	kept := in.history.newest()
	if len(kept) == 0 {
		return
	}
	in.set(func(in *intake) {
		for _, r := range kept {
			if in.nodes[r.Node] == nil {
				in.nodes[r.Node] = r
			}
		}
	})
}

// rejected is why a report was not taken: the label of the metric.
type rejected struct {
	reason string // stale, invalid, implausible, unauthorized, too_large, rate_limited
	err    *Problem
}

func (e *rejected) Error() string { return e.err.Detail }
func (e *rejected) Unwrap() error { return e.err }

func reject(status int, reason, format string, args ...any) error {
	return &rejected{reason, problem(status, codeInvalid, fmt.Sprintf(format, args...))}
}

// handleReport is POST /v1/reports: a NodeReport, PairReport, FabricReport or Occupancy, JSON or YAML, gzip or plain.
func (s *Server) handleReport(w http.ResponseWriter, r *http.Request) error {
	id := identityOf(r)
	kind, err := s.takeReport(w, r, id)
	reason := ""
	if err != nil {
		reason = "invalid"
		if p := problemOf(err); p.Status == http.StatusTooManyRequests {
			reason = "rate_limited"
		} else if p.Status == http.StatusRequestEntityTooLarge {
			reason = "too_large"
		} else if p.Status == http.StatusForbidden {
			reason = "unauthorized"
		}
		if re, ok := err.(*rejected); ok {
			reason = re.reason
		}
	}
	s.opts.Observe.Report(kind, reason)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, id Identity) (kind string, err error) {
	limit := int64(maxReportBody)
	if id.Role == Admin {
		limit = maxFabricBody
	} else if err := s.limits.allow("report "+id.Name, rate.Every(reportsEvery), reportsBurst); err != nil {
		return "", err
	}
	data, err := readBody(w, r, limit)
	if err != nil {
		return "", err
	}
	kind, err = topology.KindOf(data)
	if err != nil {
		return "", reject(http.StatusBadRequest, "invalid", "%s", err)
	}
	if err := mayReport(id, kind); err != nil {
		return kind, err
	}
	read := func(doc topology.Document) error {
		if err := topology.Read(bytes.NewReader(data), "body", doc); err != nil {
			return reject(http.StatusBadRequest, "invalid", "%s", err)
		}
		return nil
	}
	switch kind {
	case topology.KindNodeReport:
		var doc topology.NodeReport
		if err := read(&doc); err != nil {
			return kind, err
		}
		if w := s.worlds.cur.Load(); w != nil && id.Role != Admin {
			if why := w.foreignAdapter(&doc, s.intake.reported); why != "" {
				s.intake.distrust(doc.Node, why)
				return kind, &rejected{"unauthorized", problem(http.StatusForbidden, codeForbidden, why+" on the map", "an administrator may submit the report once, if that has changed")}
			}
		}
		return kind, s.intake.takeNode(id, &doc)
	case topology.KindPairReport:
		var doc topology.PairReport
		if err := read(&doc); err != nil {
			return kind, err
		}
		s.intake.set(func(in *intake) { in.pairs[doc.Source] = &doc })
		s.kept(s.intake.keep.put(kind, doc.Source, &doc))
	case topology.KindFabricReport:
		var doc topology.FabricReport
		if err := read(&doc); err != nil {
			return kind, err
		}
		s.intake.set(func(in *intake) { in.fabrics[doc.Source] = &doc })
		s.kept(s.intake.keep.put(kind, doc.Source, &doc))
	case topology.KindOccupancy:
		var doc topology.Occupancy
		if err := read(&doc); err != nil {
			return kind, err
		}
		s.takeOccupancy(&doc)
		s.kept(s.intake.keep.put(kind, doc.Side, &doc))
	default:
		return kind, reject(http.StatusBadRequest, "invalid", "kind is %q: must be NodeReport, PairReport, FabricReport or Occupancy", kind)
	}
	return kind, nil
}

// kept says when a document could not be kept: the report counts all the same.
func (s *Server) kept(err error) {
	if err != nil {
		s.log.Warn("document not kept: it will be missing after a restart", "err", err)
	}
}

// mayReport: a reporter sends reports of its own node only; everything else is an administrator's.
func mayReport(id Identity, kind string) error {
	if id.Role == Admin || kind == topology.KindNodeReport {
		return nil
	}
	return problem(http.StatusForbidden, codeForbidden, fmt.Sprintf("a %s needs the role admin: %s is a reporter", kind, id.Name))
}

// set changes the intake and asks for a new map.
func (in *intake) set(change func(*intake)) {
	in.mu.Lock()
	change(in)
	in.mu.Unlock()
	select {
	case in.dirty <- struct{}{}:
	default:
	}
}

// takeNode believes a node report only when it is of the sender's node, newer than the last one of the same boot, and can be
// true.
func (in *intake) takeNode(id Identity, doc *topology.NodeReport) error {
	if id.Role != Admin && !strings.EqualFold(doc.Node, id.Node) {
		return &rejected{"unauthorized", problem(http.StatusForbidden, codeForbidden, fmt.Sprintf("%s may report on %s, not on %s", id.Name, id.Node, doc.Node))}
	}
	if doc.Time != nil && time.Until(*doc.Time) > time.Hour {
		return reject(http.StatusBadRequest, "implausible", "the report is from the future (%s): set the clock of %s", doc.Time.Format(time.RFC3339), doc.Node)
	}
	in.mu.Lock()
	stale := in.older(doc)
	in.mu.Unlock()
	if stale != nil {
		return stale // before anything of it is believed, also that it is implausible
	}
	if why := implausible(doc); why != "" {
		in.set(func(in *intake) {
			in.quarantine[doc.Node] = quarantined{why, time.Now().Add(quarantineTime)}
			delete(in.nodes, doc.Node)
		})
		return reject(http.StatusUnprocessableEntity, "implausible", "%s: not believed; %s is in quarantine for %s", why, doc.Node, quarantineTime)
	}
	in.set(func(in *intake) {
		if stale = in.older(doc); stale == nil {
			in.nodes[doc.Node] = doc
			delete(in.quarantine, doc.Node)
		}
	})
	if stale != nil {
		return stale
	}
	if err := in.history.add(doc); err != nil {
		in.log.Warn("history not written", "node", doc.Node, "err", err)
	}
	return nil
}

// reported tells whether a node has reported itself.
func (in *intake) reported(node string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.nodes[node] != nil
}

// distrust names a node in the findings; what it said before stays.
func (in *intake) distrust(node, why string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.quarantine[node] = quarantined{why, time.Now().Add(quarantineTime)}
}

// older refuses a report that was made before the one known, whatever boot it is of. The caller holds the lock: two reports
// that come at once leave the newer one.
func (in *intake) older(doc *topology.NodeReport) error {
	last := in.nodes[doc.Node]
	if last != nil && last.Time != nil && (doc.Time == nil || doc.Time.Before(*last.Time)) {
		return reject(http.StatusConflict, "stale", "a newer report of %s is here already (%s)", doc.Node, last.Time.Format(time.RFC3339))
	}
	return nil
}

// findings are what an operator should know about the intake itself.
func (in *intake) findings() []topology.Finding {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []topology.Finding
	for node, q := range in.quarantine {
		if time.Now().Before(q.until) {
			out = append(out, topology.Finding{Code: "quarantined", Severity: topology.Warning, Subject: node, Message: q.reason + ": reports of this node are not used until " + q.until.UTC().Format(time.RFC3339),
				Remedy: "run railmap probe on the node and look at its figures; a plausible report ends the quarantine"})
		}
	}
	return out
}

func (in *intake) occupancies() []*topology.Occupancy {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []*topology.Occupancy
	for _, o := range in.occupancy {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b *topology.Occupancy) int { return strings.Compare(a.Side, b.Side) })
	return out
}

func (in *intake) generation(g uint64) *topology.Topology {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, t := range in.old {
		if t.Generation == g {
			return t
		}
	}
	return nil
}

// input is what the map is made from now.
func (in *intake) input() topology.Input {
	in.mu.Lock()
	defer in.mu.Unlock()
	var input topology.Input
	for _, r := range in.fabrics {
		input.Fabrics = append(input.Fabrics, r)
	}
	for _, r := range in.nodes {
		input.Nodes = append(input.Nodes, r)
	}
	for _, r := range in.pairs {
		input.Pairs = append(input.Pairs, r)
	}
	return input
}
