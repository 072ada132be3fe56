package fabric

import (
	"fmt"

	"github.com/railmap/railmap/topology"
)

// Codes of the findings that readers of fabrics report.
const (
	CodeLineNotUnderstood  = "line-not-understood" // a line was skipped
	CodeInputCut           = "input-cut"           // the input ends inside a record
	CodeReferenceOnly      = "no-record"           // a device is known only as somebody's peer
	CodeOneSidedCable      = "one-sided-cable"     // one end says so, the other end says nothing
	CodeConflictingCables  = "conflicting-cables"  // two cables claim one port
	CodeConflictingRecords = "conflicting-records" // two records of one GUID differ
	CodeEndsDisagree       = "ends-disagree"       // the ends print different widths or speeds
	CodeNoPeer             = "no-peer"             // a port is up but nothing answers behind it
	CodeNameCleaned        = "name-cleaned"        // a description held control bytes
	CodeUnknownSpeed       = "unknown-speed"       // the tool did not know the speed of a cable
	CodeSymbolErrors       = "symbol-errors"       // SymbolErrorCounter above its threshold
	CodeLinkDowned         = "link-downed"         // LinkDownedCounter above its threshold
	CodeReceiveErrors      = "receive-errors"      // PortRcvErrors above its threshold
	CodeLinkRecoveries     = "link-recoveries"     // LinkErrorRecoveryCounter above its threshold
	CodeUnknownPort        = "unknown-port"        // counters of a device that the report does not have
	CodeNoCables           = "no-cables"           // the report has devices and no cable
	CodeHashedLabel        = "hashed-label"        // a label value is a hash of a longer name
	CodeMissingLabel       = "missing-label"       // a node lacks a level
	CodeMixedLabels        = "mixed-labels"        // equal lower labels, different upper labels
)

// maxPerCode bounds the findings of one code; the rest is counted.
const maxPerCode = 256

// notebook collects findings, at most maxPerCode of each code.
type notebook struct {
	list   []topology.Finding
	counts map[string]int
}

func (n *notebook) add(f topology.Finding) {
	if n.counts == nil {
		n.counts = map[string]int{}
	}
	n.counts[f.Code]++
	if n.counts[f.Code] <= maxPerCode {
		n.list = append(n.list, f)
	}
}

// all gives the findings in order, with one more for each code of which some were left out.
func (n *notebook) all(subject string) []topology.Finding {
	for code, count := range n.counts {
		if count > maxPerCode {
			n.list = append(n.list, topology.Finding{Code: code, Severity: topology.Warning, Subject: subject,
				Message: fmt.Sprintf("%d findings of this kind; %d are listed", count, maxPerCode), Remedy: "mend the listed ones first"})
		}
	}
	if len(n.list) == 0 {
		return nil
	}
	return topology.SortFindings(n.list)
}
