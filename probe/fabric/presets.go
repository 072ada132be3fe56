package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// labelPreset says which node labels name the switches above a node.
type labelPreset struct {
	name   string
	tiers  []string // label keys from the leaf up; of keys joined by "|" the first that is set counts
	prefix string   // instead of tiers: key = prefix + number; base is the number of the leaf
	base   int
	domain []string // keys of the NVLink domain, the first that is set counts
	paths  bool     // values are unique below one parent only (rack-1 in every block); otherwise everywhere
}

// labelPresets are the label sets in use, most specific first: "auto" takes the first one whose leaf label most nodes carry.
// Sources: topograph's label documentation (v1 and before), Kueue's topology-aware scheduling page, the node label pages of
// GKE, OCI and AWS, Volcano's HyperNode discovery, soperator's topology controller, NVIDIA's GPU feature discovery.
func labelPresets() []labelPreset {
	const (
		v0     = "network.topology.nvidia.com/"
		clique = "nvidia.com/gpu.clique"
	)
	return []labelPreset{
		{name: "topograph-v1", prefix: "fabric.topograph.run/tier-", domain: []string{"accelerator.topograph.run/domain", clique}},
		{name: "topograph-v0", tiers: []string{v0 + "leaf", v0 + "spine", v0 + "core"}, domain: []string{v0 + "accelerator", clique}},
		{name: "topograph-v0-old", tiers: []string{v0 + "block", v0 + "spine", v0 + "datacenter"}, domain: []string{v0 + "accelerator", clique}},
		{name: "soperator", prefix: "topology.nebius.com/tier-", base: 1, domain: []string{"topology.nebius.com/tier-0", clique}},
		{name: "oci-rdma", tiers: []string{"oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/rdma.hpc_island_id"},
			domain: []string{"oci.oraclecloud.com/host.gpu_memory_fabric_id", clique}},
		{name: "oci-host", tiers: []string{"oci.oraclecloud.com/host.rack_id", "oci.oraclecloud.com/host.network_block_id"}, domain: []string{clique}},
		{name: "aws", tiers: []string{"topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-1"},
			domain: []string{"topology.k8s.aws/ultraserver-id", clique}},
		{name: "gke", tiers: []string{"cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"}, domain: []string{clique}},
		{name: "kueue-docs", tiers: []string{"cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"}, domain: []string{clique}, paths: true},
		{name: "volcano", tiers: []string{"volcano.sh/hypernode|volcano.sh/tor", "volcano.sh/hypercluster"}, domain: []string{clique}, paths: true},
		{name: "k8s-core", tiers: []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}, domain: []string{clique}, paths: true},
	}
}

// AutoPreset lets the labels that are there decide.
const AutoPreset = "auto"

// LabelPresets names the presets that Labels knows, besides "auto" and a list of keys.
func LabelPresets() []string {
	var names []string
	for _, p := range labelPresets() {
		names = append(names, p.name)
	}
	return names
}

// choosePreset finds a preset by name. A list of label keys from the leaf up, such as "example.com/rack,example.com/row", is
// a preset of its own.
func choosePreset(name string, nodes []labelledNode) (labelPreset, error) {
	if strings.Contains(name, "/") {
		return labelPreset{name: name, tiers: strings.Split(name, ","), domain: []string{"nvidia.com/gpu.clique"}, paths: true}, nil
	}
	presets := labelPresets()
	if name != AutoPreset && name != "" {
		i := slices.IndexFunc(presets, func(p labelPreset) bool { return p.name == name })
		if i < 0 {
			return labelPreset{}, fmt.Errorf("preset %q: must be auto, a list of label keys from the leaf up, or one of %s", name, strings.Join(LabelPresets(), ", "))
		}
		return presets[i], nil
	}
	best, most := -1, 0
	for i := range presets {
		n := 0
		for _, node := range nodes {
			if presets[i].value(node.labels, 0) != "" {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return labelPreset{}, fmt.Errorf("no node carries a leaf label of a known preset: must be one of %s, or name the label keys from the leaf up", strings.Join(LabelPresets(), ", "))
	}
	return presets[best], nil
}

// value is what a node's labels say about a tier, "" when they do not.
func (p *labelPreset) value(labels map[string]string, tier int) string {
	if p.prefix != "" {
		return labels[fmt.Sprint(p.prefix, p.base+tier)]
	}
	if tier >= len(p.tiers) {
		return ""
	}
	for key := range strings.SplitSeq(p.tiers[tier], "|") {
		if v := labels[key]; v != "" {
			return v
		}
	}
	return ""
}

// maxLabelTiers bounds numbered labels.
const maxLabelTiers = 16

// depth is the number of tiers that some node has.
func (p *labelPreset) depth(nodes []labelledNode) int {
	top := 0
	for _, n := range nodes {
		for t := maxLabelTiers - 1; t >= top; t-- {
			if p.value(n.labels, t) != "" {
				top = t + 1
				break
			}
		}
	}
	return top
}

// key names the label of a tier in messages.
func (p *labelPreset) key(tier int) string {
	if p.prefix != "" {
		return fmt.Sprint(p.prefix, p.base+tier)
	}
	return p.tiers[tier]
}

// nvlinkDomain is the NVLink domain of a node. The all-zero cluster UUID means "none": HGX systems without NVLink switches
// between hosts report it.
func (p *labelPreset) nvlinkDomain(labels map[string]string) string {
	for _, key := range p.domain {
		v := labels[key]
		uuid, _, _ := strings.Cut(v, ".")
		if v != "" && strings.Trim(uuid, "0-") != "" {
			return v
		}
	}
	return ""
}
