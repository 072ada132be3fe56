package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// elementRule is what NCCL's format says about one element. Attributes in must are refused by NCCL when they are missing;
// attributes in fills are completed by NCCL from sysfs, NVML or the network plugin on the machine itself.
type elementRule struct {
	under []string // parents
	must  []string
	fills []string
	may   []string
}

var elementRules = map[string]elementRule{
	"system": {must: []string{"version"}},
	"cpu": {under: []string{"system"}, must: []string{"numaid", "arch"},
		may: []string{"host_hash", "affinity", "vendor", "familyid", "modelid"}},
	"pci": {under: []string{"cpu", "pci"}, must: []string{"busid"}, fills: []string{"class", "link_speed", "link_width"},
		may: []string{"vendor", "device", "subsystem_vendor", "subsystem_device", "keep"}},
	"gpu":     {under: []string{"pci"}, fills: []string{"dev", "sm", "rank", "gdr"}, may: []string{"mlopart", "keep"}},
	"nvlink":  {under: []string{"gpu"}, must: []string{"target", "count"}, fills: []string{"tclass"}},
	"c2c":     {under: []string{"gpu"}, must: []string{"bw", "count"}},
	"nic":     {under: []string{"cpu", "pci"}},
	"net":     {under: []string{"nic"}, fills: []string{"name", "dev"}, may: netAttributes},
	"gin":     {under: []string{"nic"}, fills: []string{"name", "dev"}, may: netAttributes},
	"rma":     {under: []string{"nic"}, fills: []string{"name", "dev"}, may: netAttributes},
	"pcilink": {under: []string{"pci"}, must: []string{"target"}},
}

var netAttributes = []string{"speed", "port", "guid", "maxconn", "gdr", "coll", "latency", "rail", "plane", "net", "gin", "rma", "keep"}

// numberAttributes must be whole numbers wherever they stand.
var numberAttributes = []string{"numaid", "familyid", "modelid", "link_width", "rank", "gdr", "mlopart", "count",
	"bw", "port", "maxconn", "coll", "rail", "plane"}

// checkValues refuses values that no reader can use.
func (x *XML) checkValues() error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	x.Root.walk(func(e *Element, _ []*Element) {
		if _, known := elementRules[e.Name]; !known {
			return
		}
		for _, a := range numberAttributes {
			_, err := e.number(a, 0)
			note(err)
		}
		note(e.checkAddress())
		_, err := e.decimal("latency")
		note(err)
	})
	return first
}

// checkAddress reads what is written in more than one base: bus ids, guids, host hashes and device numbers.
func (e *Element) checkAddress() error {
	if e.Name == "pci" {
		busID, ok := e.Get("busid")
		if !ok {
			return e.errorf("has no busid: must have one, such as busid=\"0000:0c:00.0\"")
		}
		if _, err := ParseBusID(busID); err != nil {
			return e.errorf("%v", err)
		}
	}
	for _, a := range []string{"guid", "host_hash"} {
		if _, _, err := e.hex(a); err != nil {
			return err
		}
	}
	for _, a := range []string{"dev", "speed", "sm"} {
		if _, err := e.number(a, 0); err != nil {
			return err
		}
	}
	return nil
}

// Check tells what NCCL would refuse, complete by itself or pass over in this document, each with its line. Errors are what
// NCCL refuses; this package reads on where a sensible default exists and says which one it takes.
func (x *XML) Check() []topology.Finding {
	c := xmlChecker{hosts: map[string]bool{}, seen: map[string]int{}}
	x.Root.walk(c.element)
	c.size()
	return topology.SortFindings(c.findings)
}

type xmlChecker struct {
	findings []topology.Finding
	hosts    map[string]bool
	seen     map[string]int // bus id with host -> line
	host     string
	elements int
}

func (c *xmlChecker) add(e *Element, sev topology.Severity, code, message, remedy string) {
	subject := e.label()
	if e.Line > 0 {
		subject = fmt.Sprintf("%s (line %d)", subject, e.Line)
	}
	c.findings = append(c.findings, topology.Finding{Code: code, Severity: sev, Subject: subject, Message: message, Remedy: remedy})
}

func (c *xmlChecker) element(e *Element, above []*Element) {
	c.elements++
	rule, known := elementRules[e.Name]
	if !known {
		c.add(e, topology.Warning, "nccl-xml-unknown-element", "NCCL does not know the element "+e.Name+"; it is kept and not used", unknownRemedy(e.Name))
		return
	}
	if n := len(above); n > 0 && !slices.Contains(rule.under, above[n-1].Name) {
		c.add(e, topology.Warning, "nccl-xml-misplaced", fmt.Sprintf("%s stands under %s: NCCL looks for it under %s", e.Name, above[n-1].Name, strings.Join(rule.under, " or ")), "move the element")
	}
	c.attributes(e, rule)
	switch e.Name {
	case "system":
		if v, _ := e.Get("version"); v != "1" {
			c.add(e, topology.Warning, "nccl-xml-version", fmt.Sprintf("version is %q: NCCL writes 1, RCCL 2; read as version 1", v), "")
		}
	case "cpu":
		c.cpu(e)
	case "pci":
		c.pci(e)
	case "nvlink":
		c.nvlink(e, above)
	case "net":
		c.net(e)
	}
}

func unknownRemedy(name string) string {
	if name == "xgmi" {
		return "this is RCCL's file for AMD GPUs; NCCL's search would see PCIe only"
	}
	return ""
}

func (c *xmlChecker) attributes(e *Element, rule elementRule) {
	for _, a := range rule.must {
		if _, ok := e.Get(a); !ok {
			c.add(e, topology.Error, "nccl-xml-missing", fmt.Sprintf("%s has no %s: NCCL refuses the file", e.Name, a), missingRemedy(e.Name, a))
		}
	}
	var absent []string
	for _, a := range rule.fills {
		if v, _ := e.Get(a); strings.TrimSpace(v) == "" {
			absent = append(absent, a)
		}
	}
	if len(absent) > 0 {
		c.add(e, topology.Info, "nccl-xml-completed", fmt.Sprintf("%s has no %s: NCCL completes that on the machine", e.Name, strings.Join(absent, ", ")), "complete it with --fill to predict without the machine")
	}
	for _, a := range e.Attrs {
		if !slices.Contains(rule.must, a.Name) && !slices.Contains(rule.fills, a.Name) && !slices.Contains(rule.may, a.Name) {
			c.add(e, topology.Info, "nccl-xml-unknown-attribute", fmt.Sprintf("NCCL does not know the attribute %s of %s; it is kept and not used", a.Name, e.Name), "")
		}
	}
}

func missingRemedy(element, attr string) string {
	if element == "cpu" && attr == "arch" {
		return `add arch="x86_64" vendor="GenuineIntel" or vendor="AuthenticAMD", or arch="arm64"; x86_64 without a vendor is assumed here`
	}
	return "add " + attr
}

func (c *xmlChecker) cpu(e *Element) {
	c.host, _ = e.Get("host_hash")
	c.hosts[c.host] = true
	arch, _ := e.Get("arch")
	vendor, hasVendor := e.Get("vendor")
	if arch == "x86_64" && !hasVendor {
		c.add(e, topology.Error, "nccl-xml-missing", "x86_64 cpu has no vendor: NCCL refuses the file", `add vendor="GenuineIntel" or vendor="AuthenticAMD"`)
	}
	if arch != "" && archOf(arch) == archUnknown {
		c.add(e, topology.Error, "nccl-xml-bad-value", fmt.Sprintf("arch %q is unknown to NCCL", arch), "must be x86_64, arm64 or ppc64")
	}
	if hasVendor && vendorOf(vendor) == vendorUnknown {
		c.add(e, topology.Error, "nccl-xml-bad-value", fmt.Sprintf("vendor %q is unknown to NCCL", vendor), "must be GenuineIntel, AuthenticAMD, CentaurHauls or \"  Shanghai  \"")
	}
}

func (c *xmlChecker) pci(e *Element) {
	busID, _ := e.Get("busid")
	key := c.host + " " + busID
	if line, twice := c.seen[key]; twice {
		c.add(e, topology.Warning, "nccl-xml-duplicate", fmt.Sprintf("bus id %s stands already in line %d", busID, line), "remove one of them")
	}
	c.seen[key] = e.Line
	if speed, ok := e.Get("link_speed"); ok && speed != "" && laneSpeed(speed) == 0 {
		c.add(e, topology.Warning, "nccl-xml-link-speed", fmt.Sprintf("link_speed %q is unknown: NCCL counts it as PCIe Gen3", speed), `write it as in "32.0 GT/s PCIe"`)
	}
}

func (c *xmlChecker) nvlink(e *Element, above []*Element) {
	target, _ := e.Get("target")
	for _, up := range above {
		if busID, ok := up.Get("busid"); ok && strings.EqualFold(busID, target) {
			c.add(e, topology.Warning, "nccl-xml-nvlink-self", "the NVLink leads back to its own GPU: it joins nothing", "set target to the GPU or NVSwitch at the other end")
		}
	}
}

// virtualPrefixes are names of interfaces that containers and tunnels make; NCCL leaves out docker* and lo by default.
var virtualPrefixes = []string{"docker", "br-", "veth", "cali", "tunl", "flannel", "cni", "virbr", "vxlan", "lo"}

func (c *xmlChecker) net(e *Element) {
	name, _ := e.Get("name")
	for _, p := range virtualPrefixes {
		if strings.HasPrefix(name, p) {
			c.add(e, topology.Warning, "nccl-xml-virtual-nic", name+" is a container or tunnel interface: it carries no traffic between nodes", "leave it out: NCCL_SOCKET_IFNAME=^"+p)
			return
		}
	}
}

// ncclElementLimit is the number of elements that NCCL 2.27 to 2.30 allocates for one rank's topology file.
const ncclElementLimit = 256

func (c *xmlChecker) size() {
	if limit := ncclElementLimit * max(1, len(c.hosts)); c.elements > limit {
		c.findings = append(c.findings, topology.Finding{Code: "nccl-xml-too-large", Severity: topology.Error, Subject: "system",
			Message: fmt.Sprintf("the file has %d elements: NCCL takes %d for each host", c.elements, ncclElementLimit),
			Remedy:  "leave out what is neither GPU, NIC nor a switch between them"})
	}
}
