package probe

import (
	"fmt"
	"path"
	"strings"

	"github.com/railmap/railmap/topology"
)

// inspectIOMMU speaks about GPUs and NICs whose every access is translated: peer-to-peer copies then go through the root
// complex. The kernel writes the type of each group: "DMA" and "DMA-FQ" translate, "identity" does not.
func inspectIOMMU(t *tree, r *topology.NodeReport) []topology.Finding {
	var names []string
	for i := range r.PCI {
		d := &r.PCI[i]
		if d.IOMMUGroup == nil || !isGPU(d) && !isNIC(d) {
			continue
		}
		if kind := t.text(path.Join("sys/kernel/iommu_groups", fmt.Sprint(*d.IOMMUGroup), "type")); strings.HasPrefix(kind, "DMA") {
			names = append(names, pciName(r, d))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []topology.Finding{{Code: "iommu-translates", Severity: topology.Info, Subject: "iommu",
		Message: "the IOMMU translates every access of " + strings.Join(names, ", "),
		Remedy:  "boot with iommu=pt when no virtual machine needs the translation"}}
}
