package prometheus

// Metric is one row of the table of all metrics: it is the source of the descriptions and of the reference.
type Metric struct {
	Name   string
	Help   string
	Labels []string
	Bound  int // most series that one railmap can have of it
}

// Names of the metrics.
const (
	buildInfo  = "railmap_build_info"
	generation = "railmap_topology_generation"
	nodes      = "railmap_topology_nodes"
	gpus       = "railmap_topology_gpus"
	links      = "railmap_topology_links"
	healthMin  = "railmap_topology_link_health_ratio_min"
	findings   = "railmap_topology_findings"
)

// Table lists every metric of this package by name. Tiers are "host" (node to leaf) and "tier0" to "tier5" (uplinks of a leaf,
// of the switches above it, and so on): seven at most.
func Table() []Metric {
	return []Metric{
		{buildInfo, "Version of railmap; the value is always 1.", []string{"version", "revision", "goversion"}, 1},
		{findings, "Findings of the map by severity.", []string{"severity"}, 3},
		{generation, "Generation of the map; grows with every change of its content.", nil, 1},
		{gpus, "GPUs of the nodes whose number is known.", nil, 1},
		{healthMin, "Smallest health (measured or nominal bandwidth over expected) of the links of a tier.", []string{"tier"}, 7},
		{links, "Links of the map by tier and state.", []string{"tier", "state"}, 35},
		{nodes, "Nodes of the map by state.", []string{"state"}, 5},
	}
}
