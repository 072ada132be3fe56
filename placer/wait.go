package placer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Start or wait. A gang that takes slow nodes now runs longer; one that waits for better ones starts later. With the run
// time D at ideal bandwidth, the share c of it that is communication at ideal bandwidth, and the best share B,
//
//	run(B) = D × (1 - c + c × ideal/B)
//
// A slow run also keeps its nodes from the Q gangs that queue behind it, and so does waiting, as far as nobody can use the
// nodes meanwhile. With the pressure P = Q × k / nodes of the cluster, waiting until the end τ of some running gang pays when
//
//	(run(B_now) - run(B_τ)) × (1 + P)  >  τ × (1 + idleShare × P)
//
// B_τ is the optimum once all gangs with an end up to τ are gone. Unknown ends count as never. Not modelled: other gangs
// that take the nodes first, and wrong end times.

// Outlook is what is known of the near future.
type Outlook struct {
	Ends   []GangEnd
	Queued int // gangs that wait behind this one
}

// GangEnd is a running gang with its expected end.
type GangEnd struct {
	Nodes   []string
	Seconds float64 // from now
}

// Wait advises a gang to wait.
type Wait struct {
	UntilSeconds float64 `json:"untilSeconds" yaml:"untilSeconds"` // from now
	Share        float64 `json:"share" yaml:"share"`               // best share then
	GainSeconds  float64 `json:"gainSeconds" yaml:"gainSeconds"`   // run time saved minus the wait
	Reason       string  `json:"reason" yaml:"reason"`
}

// WaitOptions tune the rule.
type WaitOptions struct {
	IdleShare float64 // share of the nodes kept for a waiting gang that nobody else can use
	MaxEnds   int     // ends looked at
}

// DefaultWaitOptions were tuned on the first halves of traces (railmap bench replay).
func DefaultWaitOptions() WaitOptions { return WaitOptions{IdleShare: .1, MaxEnds: 64} }

// DefaultCommunicationFraction stands for an unknown one.
const DefaultCommunicationFraction = .3

// RunSeconds is the run time of a gang that would take duration at ideal bandwidth.
func RunSeconds(duration, communication, ideal, share float64) float64 {
	if share <= 0 {
		return math.Inf(1)
	}
	return duration * (1 - communication + communication*ideal/share)
}

// Advise says whether a gang that could start now at the given placement should wait, nil = start. The request must carry
// durationSeconds.
func (s *Snapshot) Advise(r *Request, now *Placement, o Outlook, w WaitOptions) (*Wait, error) {
	if r.DurationSeconds <= 0 || len(now.Nodes) < 2 || now.Share >= now.IdealShare {
		return nil, nil
	}
	c := r.CommunicationFraction
	if c == 0 {
		c = DefaultCommunicationFraction
	}
	runNow := RunSeconds(r.DurationSeconds, c, now.IdealShare, now.Share)
	pressure := float64(o.Queued) * float64(len(now.Nodes)) / float64(len(s.c.nodes))
	most := (runNow - r.DurationSeconds) * (1 + pressure) / (1 + w.IdleShare*pressure) // no later end can pay
	ends := sortedEnds(o.Ends)
	d := s.draft(s.generation)
	var best *Wait
	bestNet := 0.0
	for i, end := range ends {
		if end.Seconds > most || i >= w.MaxEnds {
			break
		}
		if err := d.end(end.Nodes); err != nil {
			return nil, err
		}
		if i+1 < len(ends) && ends[i+1].Seconds == end.Seconds {
			continue
		}
		share, err := d.bestShare(r)
		if err != nil || share <= now.Share {
			continue
		}
		tau := max(0, end.Seconds)
		saved := runNow - RunSeconds(r.DurationSeconds, c, now.IdealShare, share)
		if net := saved*(1+pressure) - tau*(1+w.IdleShare*pressure); net > bestNet {
			bestNet = net
			best = &Wait{UntilSeconds: tau, Share: share, GainSeconds: saved - tau,
				Reason: fmt.Sprintf("wait %.0f s for a share of %.3f in place of %.3f: the run is %.0f s shorter", tau, share, now.Share, saved)}
		}
	}
	return best, nil
}

// fitsAfter is when the expected ends of running gangs make room for a request; ok is false when they never do.
func (s *Snapshot) fitsAfter(r *Request) (seconds float64, ok bool) {
	d := s.draft(s.generation)
	for _, end := range sortedEnds(s.ends) {
		if d.end(end.Nodes) != nil {
			return 0, false
		}
		if p, err := d.Snapshot.problem(r); err == nil && p.fitsNow() {
			return max(0, end.Seconds), true
		}
	}
	return 0, false
}

// sortedEnds is a copy in order of time.
func sortedEnds(ends []GangEnd) []GangEnd {
	out := slices.Clone(ends)
	slices.SortStableFunc(out, func(a, b GangEnd) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return out
}

// end gives the nodes of a running gang back.
func (d *draft) end(names []string) error {
	at, err := d.c.names.positions("ends", names)
	if err != nil {
		return err
	}
	for _, v := range at {
		d.setUse(v, Free)
	}
	d.cross(at, -1)
	return nil
}

// bestShare is the share that a request would have on the draft.
func (d *draft) bestShare(r *Request) (float64, error) {
	q := *r
	q.MinimumShare = 0
	p, err := d.Snapshot.problem(&q)
	if err != nil {
		return 0, err
	}
	best, err := p.solve(&q)
	if err != nil {
		return 0, err
	}
	return best.share, nil
}
