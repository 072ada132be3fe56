package topology

import "time"

// APIVersion stands in every document.
const APIVersion = "railmap.dev/v1"

// Kinds of documents.
const (
	KindNodeReport   = "NodeReport"
	KindPairReport   = "PairReport"
	KindFabricReport = "FabricReport"
	KindTopology     = "Topology"
	KindPlacement    = "Placement"
	KindRequest      = "PlacementRequest"
)

// Header opens every document: what it is, where it came from, when, and which tool wrote it. Nothing else in a document
// depends on when or where it was made.
type Header struct {
	APIVersion  string     `json:"apiVersion" yaml:"apiVersion"`
	Kind        string     `json:"kind" yaml:"kind"`
	Source      string     `json:"source,omitempty" yaml:"source,omitempty"`           // "ibnetdiscover", "iblinkinfo", "static", "probe", ...
	Time        *time.Time `json:"time,omitempty" yaml:"time,omitempty"`               // UTC; absent when the input carries none
	ToolVersion string     `json:"toolVersion,omitempty" yaml:"toolVersion,omitempty"` // railmap's own version
}

// Measurement is one measured quantity; the unit stands in the name of the field that holds it.
type Measurement struct {
	Value   float64    `json:"value" yaml:"value"`                         // the median of the samples
	Spread  float64    `json:"spread,omitempty" yaml:"spread,omitempty"`   // (max-min)/median of the samples, a ratio
	Samples int        `json:"samples,omitempty" yaml:"samples,omitempty"` // number of samples
	Method  string     `json:"method,omitempty" yaml:"method,omitempty"`   // "tcp", "ib_write_bw", "memcpy", ...
	Time    *time.Time `json:"time,omitempty" yaml:"time,omitempty"`       // UTC
}

// DeviceKind is what a fabric device is.
type DeviceKind string

// Kinds of fabric devices. An aggregation device is a SHARP aggregation node: an adapter inside a switch, not a host.
const (
	SwitchDevice      DeviceKind = "switch"
	AdapterDevice     DeviceKind = "adapter"
	RouterDevice      DeviceKind = "router"
	AggregationDevice DeviceKind = "aggregation"
	UnknownDevice     DeviceKind = "unknown"
)

// FabricReport is what one look at a fabric says: devices and cables as reported, names not yet interpreted.
// Devices are sorted by GUID (then name), links by (A, port A); Links holds each cable once with A the smaller end.
type FabricReport struct {
	Header   `yaml:",inline"`
	Devices  []FabricDevice `json:"devices" yaml:"devices"`
	Links    []FabricLink   `json:"links" yaml:"links"`
	Findings []Finding      `json:"findings,omitempty" yaml:"findings,omitempty"`
}

// FabricDevice is a switch, channel adapter (one HCA or Ethernet NIC) or router.
// A device of a source without GUIDs (static files, LLDP, labels) has a Name that is unique in the report instead; for adapters
// Host and Name together are unique.
type FabricDevice struct {
	GUID            GUID       `json:"guid,omitempty" yaml:"guid,omitempty"`                       // node GUID; the smallest port GUID when the source prints no other
	SystemImageGUID GUID       `json:"systemImageGuid,omitempty" yaml:"systemImageGuid,omitempty"` // joins the ports of one card or box
	Kind            DeviceKind `json:"kind" yaml:"kind"`
	Description     string     `json:"description,omitempty" yaml:"description,omitempty"`   // NodeDescription as reported, cleaned of control bytes
	Name            string     `json:"name,omitempty" yaml:"name,omitempty"`                 // for a switch: given name; for an adapter: device name ("mlx5_0"), when the source knows it
	Host            string     `json:"host,omitempty" yaml:"host,omitempty"`                 // for an adapter: host name, when the source knows it; otherwise Build reads Description
	NVLinkDomain    string     `json:"nvlinkDomain,omitempty" yaml:"nvlinkDomain,omitempty"` // for an adapter: NVLink domain of its host, when labels say it
	Model           string     `json:"model,omitempty" yaml:"model,omitempty"`
	VendorID        uint32     `json:"vendorId,omitempty" yaml:"vendorId,omitempty"`
	DeviceID        uint32     `json:"deviceId,omitempty" yaml:"deviceId,omitempty"`
	PortCount       int        `json:"portCount,omitempty" yaml:"portCount,omitempty"`
	Rail            *int       `json:"rail,omitempty" yaml:"rail,omitempty"`                   // static files may say it
	Tier            *int       `json:"tier,omitempty" yaml:"tier,omitempty"`                   // static files and labels may say it: 0 = leaf
	Ports           []PortInfo `json:"ports,omitempty" yaml:"ports,omitempty"`                 // port GUIDs of adapters, and ports that are down or carry counters, by number
	ReferenceOnly   bool       `json:"referenceOnly,omitempty" yaml:"referenceOnly,omitempty"` // known only as the far end of somebody's cable
}

// PortInfo is what a source says about a port beyond its cable.
type PortInfo struct {
	Number   int               `json:"number" yaml:"number"`
	External int               `json:"external,omitempty" yaml:"external,omitempty"` // number on the front panel of a chassis
	GUID     GUID              `json:"guid,omitempty" yaml:"guid,omitempty"`
	State    string            `json:"state,omitempty" yaml:"state,omitempty"` // "Down/Polling", "Unlinked"; only when not up
	Counters map[string]uint64 `json:"counters,omitempty" yaml:"counters,omitempty"`
}

// FabricEnd is one end of a cable: an index into FabricReport.Devices and a port number.
type FabricEnd struct {
	Device int32 `json:"device" yaml:"device"`
	Port   int32 `json:"port" yaml:"port"`
}

// FabricLink is one cable. The struct holds no pointer, so that the garbage collector passes over the 400,000 cables of a large
// fabric: Width is in lanes (0 unknown), Speed the generation of a lane (absent when unknown or Ethernet).
type FabricLink struct {
	A                       FabricEnd `json:"a" yaml:"a,flow"`
	B                       FabricEnd `json:"b" yaml:"b,flow"`
	BandwidthBytesPerSecond float64   `json:"bandwidthBytesPerSecond,omitempty" yaml:"bandwidthBytesPerSecond,omitempty"` // nominal data rate one way; absent when unknown
	Width                   int16     `json:"width,omitempty" yaml:"width,omitempty"`
	Speed                   LinkSpeed `json:"speed,omitempty" yaml:"speed,omitempty"`
	CouldBe                 LinkSpeed `json:"couldBe,omitempty" yaml:"couldBe,omitempty"`   // a higher speed that both ends support, as iblinkinfo remarks
	OneSided                bool      `json:"oneSided,omitempty" yaml:"oneSided,omitempty"` // only one end reported it
}

// PairReport is what measurements between nodes say. Bandwidths are one way, from A to B, per node pair (all rails together
// unless Rail is set).
type PairReport struct {
	Header   `yaml:",inline"`
	Partial  bool       `json:"partial,omitempty" yaml:"partial,omitempty"` // ended before the plan did; findings say why
	Nodes    []PairNode `json:"nodes,omitempty" yaml:"nodes,omitempty"`     // who took part, by name
	Pairs    []Pair     `json:"pairs" yaml:"pairs"`
	Findings []Finding  `json:"findings,omitempty" yaml:"findings,omitempty"`
}

// PairNode is one node that took part and where the map placed it when the rounds were planned.
type PairNode struct {
	Name                           string   `json:"name" yaml:"name"`
	Groups                         []string `json:"groups,omitempty" yaml:"groups,omitempty,flow"` // groups above it, leaf group first; absent = not in the map
	NominalBandwidthBytesPerSecond float64  `json:"nominalBandwidthBytesPerSecond,omitempty" yaml:"nominalBandwidthBytesPerSecond,omitempty"`
}

// Pair is one measured pair of nodes; A and B are node names, Device names the NIC when one rail was measured.
// Loaded is true when the uplinks between them were filled on purpose.
type Pair struct {
	A                       string       `json:"a" yaml:"a"`
	B                       string       `json:"b" yaml:"b"`
	DeviceA                 string       `json:"deviceA,omitempty" yaml:"deviceA,omitempty"`
	DeviceB                 string       `json:"deviceB,omitempty" yaml:"deviceB,omitempty"`
	Rail                    *int         `json:"rail,omitempty" yaml:"rail,omitempty"`
	Loaded                  bool         `json:"loaded,omitempty" yaml:"loaded,omitempty"`
	LoadedLevel             string       `json:"loadedLevel,omitempty" yaml:"loadedLevel,omitempty"` // level of the groups whose uplinks were filled
	Round                   int          `json:"round,omitempty" yaml:"round,omitempty"`             // pairs of one round ran at the same time; from 1, 0 = not told
	Failed                  string       `json:"failed,omitempty" yaml:"failed,omitempty"`           // why there is no figure
	BandwidthBytesPerSecond *Measurement `json:"bandwidthBytesPerSecond,omitempty" yaml:"bandwidthBytesPerSecond,omitempty"`
	LatencySeconds          *Measurement `json:"latencySeconds,omitempty" yaml:"latencySeconds,omitempty"` // half a round trip
}
