package fabric

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestCorpusErrors(t *testing.T) {
	for _, tt := range []struct {
		folder, file string
		codes        string
		subjects     []string
	}{
		{"rail8x32-hurt", "ibqueryerrors.txt", CodeLinkDowned + " " + CodeLinkRecoveries + " " + CodeReceiveErrors + " " + CodeSymbolErrors, []string{"leaf0:1", "leaf4:9", "leaf4:9", "leaf0:1"}},
		{"rail8x32-hurt", "ibqueryerrors-details.txt", CodeLinkDowned + " " + CodeLinkRecoveries + " " + CodeReceiveErrors + " " + CodeSymbolErrors, []string{"leaf0:1", "leaf4:9", "leaf4:9", "leaf0:1"}},
		{"hurt-live", "ibqueryerrors.txt", CodeLinkDowned + " " + CodeReceiveErrors, []string{"node0003 mlx5_0:1", "node0003 mlx5_0:1"}},
		{"ft32", "ibqueryerrors-data.txt", "", nil},
		{"hurt-3level", "ibqueryerrors.txt", "", nil},
	} {
		rep, err := Read(corpus(t, "fabric/ib", tt.folder, "ibnetdiscover.txt"), tt.folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := MergeErrors(rep, corpus(t, "fabric/ib", tt.folder, tt.file), tt.file); err != nil {
			t.Fatal(err)
		}
		var subjects []string
		for _, f := range rep.Findings {
			subjects = append(subjects, f.Subject)
		}
		if codes(rep) != tt.codes || gocmp.Diff(tt.subjects, subjects) != "" {
			t.Errorf("%s/%s: findings %v", tt.folder, tt.file, rep.Findings)
		}
		checkSound(t, rep)
	}
}

func TestMergeErrorsCounters(t *testing.T) {
	rep := twoLevel(2, 1, 2, 1)
	const in = `Errors for 0x2c90200000000 "leaf0"
   GUID 0x2c90200000000 port ALL: [SymbolErrorCounter == 10]
   GUID 0x2C90200000000 port 2: [SymbolErrorCounter == 10] [PortXmitData == 3312 (12.938KB)]
       Link info:     41   9[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>
   GUID 0x2c90300000001 port 1: [LinkDownedCounter == 3]
   GUID 0x2c90300000000 port 1: [LinkDownedCounter == 4]
   GUID 0x77 port 1: [LinkDownedCounter == 3]
   GUID 0x2c90200000000 port 2: [broken

## Summary: 2 nodes checked, 2 bad nodes found
`
	if err := MergeErrors(rep, strings.NewReader(in), "errors.txt"); err != nil {
		t.Fatal(err)
	}
	want := []topology.PortInfo{{Number: 2, Counters: map[string]uint64{"SymbolErrorCounter": 10, "PortXmitData": 3312}}}
	if diff := gocmp.Diff(want, rep.Devices[0].Ports); diff != "" {
		t.Errorf("leaf0 (-want +got):\n%s", diff)
	}
	if p := rep.Devices[1].Ports; len(p) != 1 || p[0].GUID != 0x2c90300000001 || p[0].Counters["LinkDownedCounter"] != 4 {
		t.Errorf("adapter, by port and by node GUID: %v", p)
	}
	if c := codes(rep); c != CodeLineNotUnderstood+" "+CodeLinkDowned+" "+CodeUnknownPort {
		t.Errorf("findings %v", rep.Findings)
	}
	for _, bad := range []string{"", "hello\n", "<html>"} {
		if err := MergeErrors(rep, strings.NewReader(bad), "errors.txt"); err == nil || !strings.Contains(err.Error(), "no counters") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}
