// Package fabric reads what a cluster's network says about itself and gives it one form, the FabricReport.
//
// Sources, each in the file named after it:
//
//	ibnetdiscover.go   the default text of ibnetdiscover (infiniband-diags), plain or grouped by chassis (-g), with --full
//	ports.go           the ports report of ibnetdiscover -p
//	iblinkinfo.go      iblinkinfo, plain or one line a port (-l): also ports that are down
//	ibqueryerrors.go   error counters, merged into a report
//	static.go          our own short YAML for Ethernet (RoCE) and cloud clusters
//	labels.go          a Kubernetes node list whose labels name the switches above each node
//	lldp.go            what hosts and switches hear by LLDP: lldpcli -f json0 and -f json
//	exec.go            a live run of ibnetdiscover
//
// Read tells them apart by content. A report holds devices and cables as reported: what a name means, which switch is a leaf
// and which host belongs where is decided later, in topology.Build.
//
// Rules that every reader keeps: the result does not depend on the order of the records; each cable stands once although
// both ends print it; what only one end says is kept and marked; whatever is dropped, doubted or changed is a finding; a
// line is at most 64 KiB; errors name file and line.
//
//	f, _ := os.Open("fabric.txt.gz")
//	report, err := fabric.Read(f, "fabric.txt.gz")
package fabric
