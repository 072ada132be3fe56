package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Preset is a set of label keys that some scheduler, cloud or tool reads. Keys are data: no standard exists, and those in use
// have changed before.
type Preset struct {
	Name  string
	About string // who writes and reads these keys

	// Keys are the keys of the levels above the host, coarse to fine; the last one is the leaf group's. A tree with more
	// levels loses the coarsest, one with fewer repeats its coarsest group, so that no key is ever missing.
	Keys []string
	// Tier makes the keys when Keys is empty: Tier + the number of the level, counted from FirstTier at the leaf group up.
	Tier      string
	FirstTier int
	// LevelPrefix makes the keys when Keys and Tier are empty: LevelPrefix + the name of the level.
	LevelPrefix string
	// Domain is the key of the NVLink domain; "" = the preset has none.
	Domain string
	// Host is a key of the preset's own that carries the node's name; "" = only kubernetes.io/hostname does.
	Host string
}

// DefaultPreset is railmap's own.
const DefaultPreset = "railmap"

// Presets lists the presets by name. Sources: the projects' own code and documents (topograph 0.5 and 1.0, Kueue, Koordinator,
// Volcano, soperator, and the node label pages of GKE, OCI and AWS).
func Presets() []Preset {
	return []Preset{
		{Name: "aws", About: "AWS instance topology (layer 3 is next to the node)",
			Keys: []string{"topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3"}},
		{Name: "gke", About: "GKE compact placement",
			Keys: []string{"cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"}, Host: "cloud.google.com/gce-topology-host"},
		{Name: "koordinator", About: "Koordinator's proposal: the keys of topograph-v0",
			Keys: topographV0(), Domain: "network.topology.nvidia.com/accelerator"},
		{Name: "kueue-docs", About: "the examples of Kueue, KAI and Grove",
			Keys: []string{"cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"}},
		{Name: "oci-host", About: "Oracle cloud controller manager",
			Keys: []string{"oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"}},
		{Name: "oci-rdma", About: "Oracle oci-hpc-oke labeler and its Kueue Topology",
			Keys: []string{"oci.oraclecloud.com/rdma.hpc_island_id", "oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/rdma.local_block_id"}},
		{Name: "railmap", About: "railmap's own: railmap.dev/<level>, one key per level of the tree",
			LevelPrefix: "railmap.dev/", Domain: "railmap.dev/domain"},
		{Name: "soperator", About: "Nebius soperator: tier-1 up is the fabric tree, tier-0 the NVLink domain",
			Tier: "topology.nebius.com/tier-", FirstTier: 1, Domain: "topology.nebius.com/tier-0"},
		{Name: "topograph-v0", About: "topograph up to 0.5 (keys that topograph 1.0 dropped), NVSentinel",
			Keys: topographV0(), Domain: "network.topology.nvidia.com/accelerator"},
		{Name: "topograph-v0-old", About: "topograph before the keys were renamed",
			Keys:   []string{"network.topology.nvidia.com/datacenter", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"},
			Domain: "network.topology.nvidia.com/accelerator"},
		{Name: "topograph-v1", About: "topograph 1.0 and newer; Kueue and KAI by configuration",
			Tier: "fabric.topograph.run/tier-", Domain: "accelerator.topograph.run/domain"},
		{Name: "volcano-label", About: "Volcano's label discoverer, as in its documents",
			Keys: []string{"volcano.sh/hypercluster", "volcano.sh/hypernode"}},
	}
}

func topographV0() []string {
	return []string{"network.topology.nvidia.com/core", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"}
}

// shortNames are what people type first; each means the newest or usual one of its family.
var shortNames = map[string]string{"topograph": "topograph-v1", "kueue": "kueue-docs", "oci": "oci-rdma", "volcano": "volcano-label", "own": DefaultPreset}

// FindPreset gives the preset of a name; "" is DefaultPreset. "keys=a/b,c/d" makes one of the given keys, coarse to fine.
func FindPreset(name string) (Preset, error) {
	if name == "" {
		name = DefaultPreset
	}
	if list, ok := strings.CutPrefix(name, "keys="); ok {
		return customPreset(name, strings.Split(list, ","))
	}
	var names []string
	if full, ok := shortNames[name]; ok {
		name = full
	}
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("preset %q: must be one of %s, or keys=KEY,KEY,... from coarse to fine", name, strings.Join(names, ", "))
}

func customPreset(name string, keys []string) (Preset, error) {
	for i, k := range keys {
		if err := checkLabelKey(k); err != nil {
			return Preset{}, fmt.Errorf("preset %q: %w", name, err)
		}
		if slices.Contains(keys[:i], k) || k == HostnameKey {
			return Preset{}, fmt.Errorf("preset %q: key %s must stand once and must not be the host name's", name, k)
		}
	}
	return Preset{Name: "custom", About: "keys given by the user", Keys: keys}, nil
}

// KeyLevel is one level of a preset on one tree: the label key, and the level of the tree whose groups are its values.
type KeyLevel struct {
	Key   string
	Level string // topology.LeafLevel, ...; "" for the host itself
}

// KeyLevels gives the levels of a preset for a tree with the given levels (coarse to fine), coarse to fine and without the
// host. The NVLink domain is the last one when the tree has that level. A map without a fabric has the leaf level all the same.
func (p Preset) KeyLevels(levels []string) []KeyLevel {
	fabric := slices.DeleteFunc(slices.Clone(levels), func(l string) bool { return l == topology.DomainLevel })
	domain := len(fabric) < len(levels)
	if len(fabric) == 0 {
		fabric = []string{topology.LeafLevel}
	}
	var out []KeyLevel
	switch {
	case len(p.Keys) > 0:
		for i, key := range p.Keys {
			at := len(fabric) - len(p.Keys) + i
			out = append(out, KeyLevel{Key: key, Level: fabric[max(at, 0)]})
		}
	case p.Tier != "":
		for i, l := range fabric {
			out = append(out, KeyLevel{Key: fmt.Sprintf("%s%d", p.Tier, p.FirstTier+len(fabric)-1-i), Level: l})
		}
	default:
		for _, l := range fabric {
			out = append(out, KeyLevel{Key: p.LevelPrefix + l, Level: l})
		}
	}
	if p.Domain != "" && domain {
		out = append(out, KeyLevel{Key: p.Domain, Level: topology.DomainLevel})
	}
	if p.Host != "" {
		out = append(out, KeyLevel{Key: p.Host})
	}
	return out
}
