package prometheus

// Metric is one row of the table of all metrics: it is the source of the descriptions and of the reference.
type Metric struct {
	Name   string
	Help   string
	Labels []string
	Bound  int // most series that one railmap can have of it; buckets of a histogram are series of their own
}

// Names of the metrics of the map.
const (
	buildInfo      = "railmap_build_info"
	generation     = "railmap_topology_generation"
	lastChange     = "railmap_topology_last_change_timestamp_seconds"
	oldestReport   = "railmap_topology_oldest_report_timestamp_seconds"
	nodes          = "railmap_topology_nodes"
	gpus           = "railmap_topology_gpus"
	links          = "railmap_topology_links"
	healthMin      = "railmap_topology_link_health_ratio_min"
	healthMedian   = "railmap_topology_link_health_ratio_median"
	findings       = "railmap_topology_findings"
	uplinkHealth   = "railmap_switch_uplink_health_ratio"
	droppedSeries  = "railmap_metrics_dropped_series"
	leases         = "railmap_leases"
	storeSize      = "railmap_store_size_bytes"
	reloadOK       = "railmap_config_last_reload_successful"
	reloadTime     = "railmap_config_last_reload_success_timestamp_seconds"
	exportSuccess  = "railmap_export_last_success_timestamp_seconds"
	exportFailures = "railmap_export_failures_total"
)

// Names of the metrics of the service that count events.
const (
	reports           = "railmap_reports_total"
	reportsRejected   = "railmap_reports_rejected_total"
	placements        = "railmap_placements_total"
	placementDuration = "railmap_placement_duration_seconds"
	placementNodes    = "railmap_placement_nodes"
	placementQuality  = "railmap_placement_quality_ratio"
	placementLeaves   = "railmap_placement_leaves"
	leasesGranted     = "railmap_leases_granted_total"
	leasesExpired     = "railmap_leases_expired_total"
	leasesConflicts   = "railmap_leases_conflicts_total"
	commitDuration    = "railmap_store_commit_duration_seconds"
	httpRequests      = "railmap_http_requests_total"
	httpDuration      = "railmap_http_request_duration_seconds"
	httpInFlight      = "railmap_http_requests_in_flight"
)

// Table lists every metric of this package by name. Tiers are "host" (node to leaf) and "tier0" to "tier5" (uplinks of a leaf,
// of the switches above it, and so on): seven at most.
func Table() []Metric {
	return []Metric{
		{buildInfo, "Version of railmap; the value is always 1.", []string{"version", "revision", "goversion"}, 1},
		{reloadTime, "Time of the last configuration that was taken.", nil, 1},
		{reloadOK, "1 when the last reload of the configuration was taken, else 0.", nil, 1},
		{exportFailures, "Exports of the live map that were refused.", []string{"target"}, 12},
		{exportSuccess, "Time of the last export of the live map.", []string{"target"}, 12},
		{httpDuration, "Time to answer a request, by its pattern.", []string{"handler", "method"}, 22 * 14},
		{httpInFlight, "Requests being answered now.", nil, 1},
		{httpRequests, "Requests by pattern, method and class of the status (2xx, 4xx, ...).", []string{"handler", "method", "code"}, 110},
		{leases, "Leases by phase; ended ones are kept for a day.", []string{"state"}, 4},
		{leasesConflicts, "Lease requests refused because a GPU was held.", nil, 1},
		{leasesExpired, "Leases that ended because nobody renewed them.", nil, 1},
		{leasesGranted, "Leases granted.", nil, 1},
		{droppedSeries, "Series left out because there would be more than the configuration allows.", []string{"family"}, 1},
		{placementDuration, "Time to choose nodes (search) and to make the lease durable (commit).", []string{"phase"}, 2 * 14},
		{placementLeaves, "Leaf groups that a placement spans.", nil, 14},
		{placementNodes, "Nodes of a placement.", nil, 14},
		{placementQuality, "Predicted bandwidth over that of the same request on the empty cluster.", nil, 14},
		{placements, "Placements asked for, by outcome.", []string{"outcome"}, 4},
		{reportsRejected, "Reports refused, by reason.", []string{"reason"}, 6},
		{reports, "Reports received.", nil, 1},
		{commitDuration, "Time of one durable commit of the ledger.", nil, 14},
		{storeSize, "Size of the ledger's file; absent with etcd.", nil, 1},
		{uplinkHealth, "Smallest health of the uplinks of a switch, where it is known.", []string{"switch"}, 8192},
		{findings, "Findings of the map by severity.", []string{"severity"}, 3},
		{generation, "Generation of the map; grows with every change of its content.", nil, 1},
		{gpus, "GPUs of the map: free, reserved by a lease, or unavailable (used without a lease, drained, down).", []string{"state"}, 3},
		{lastChange, "Time at which the map last changed.", nil, 1},
		{healthMedian, "Median health of the links of a tier.", []string{"tier"}, 7},
		{healthMin, "Smallest health (measured or nominal bandwidth over expected) of the links of a tier.", []string{"tier"}, 7},
		{links, "Links of the map by tier and state.", []string{"tier", "state"}, 35},
		{nodes, "Nodes of the map: ready, stale, quarantined or missing.", []string{"state"}, 4},
		{oldestReport, "Time of the oldest of the nodes' newest reports.", nil, 1},
	}
}

// row finds a metric in the table.
func row(name string) Metric {
	for _, m := range Table() {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name}
}
