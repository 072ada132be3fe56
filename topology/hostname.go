package topology

import (
	"regexp"
	"strings"
)

// nameClass says what a node description is worth.
type nameClass uint8

const (
	named   nameClass = iota
	generic           // a name that images carry: localhost, ubuntu, ...
	unnamed           // firmware default, empty or unreadable
)

// genericNames are host names of images and installers; two adapters that carry one are not thereby one host.
var genericNames = map[string]bool{"localhost": true, "ubuntu": true, "debian": true, "centos": true, "rocky": true, "rhel": true,
	"almalinux": true, "fedora": true, "linux": true, "host": true, "unknown": true, "(none)": true, "default": true}

// parseDescription splits the NodeDescription of an adapter into host and device. Forms seen: "host mlx5_0", "host HCA-1",
// "host.domain mlx5_0", "host", "host  mlx5_0 port1", `"host" mlx5`, firmware defaults ("MT4129 ConnectX7   Mellanox
// Technologies"). The host comes back without its domain; folding of case is left to the caller.
func parseDescription(desc string, pattern *regexp.Regexp) (host, device string, class nameClass) {
	if pattern != nil {
		if m := pattern.FindStringSubmatch(desc); m != nil {
			return submatch(pattern, m, "host"), submatch(pattern, m, "device"), named
		}
	}
	if strings.Contains(desc, "Mellanox Technologies") || strings.Contains(desc, "ConnectX") {
		return "", "", unnamed
	}
	host, rest := nextWord(desc)
	if host == "" || deviceWord(host) {
		return "", host, unnamed
	}
	for device, rest = nextWord(rest); device != "" && !deviceWord(device); {
		var next string
		if next, rest = nextWord(rest); next == "" {
			break
		}
		if deviceWord(next) {
			device = next
		}
	}
	if dot := strings.IndexByte(host, '.'); dot > 0 && !strings.Contains("0123456789", host[:1]) {
		host = host[:dot]
	}
	if genericNames[strings.ToLower(host)] {
		return host, device, generic
	}
	return host, device, named
}

func submatch(re *regexp.Regexp, m []string, group string) string {
	if i := re.SubexpIndex(group); i >= 0 {
		return m[i]
	}
	return ""
}

// nextWord cuts the first word off s; quotes around words are dropped.
func nextWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t\"'")
	end := strings.IndexAny(s, " \t\"'")
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

// deviceWords are the beginnings of RDMA device names (kernel drivers) and of old OFED descriptions.
var deviceWords = []string{"mlx5_", "HCA-", "mlx4_", "hfi1_", "bnxt_re", "irdma", "ibp", "rocep", "qedr", "efa_", "rdmap", "rxe", "siw"}

func deviceWord(w string) bool {
	for _, p := range deviceWords {
		if strings.HasPrefix(w, p) {
			return true
		}
	}
	return w == "mlx5" || w == "mlx4"
}

// switchName reads the name that people use: NAME of "MF0;NAME:MODEL/UNIT", else the description; firmware defaults are none.
func switchName(d *FabricDevice) string {
	if d.Name != "" {
		return d.Name
	}
	s := strings.TrimSpace(d.Description)
	if rest, ok := strings.CutPrefix(s, "MF0;"); ok {
		name, _, _ := strings.Cut(rest, ":")
		return strings.TrimSpace(name)
	}
	if strings.Contains(s, "Mellanox Technologies") {
		return ""
	}
	return s
}

// switchModel reads MODEL of "MF0;NAME:MODEL/UNIT".
func switchModel(d *FabricDevice) string {
	if d.Model != "" {
		return d.Model
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(d.Description), "MF0;"); ok {
		if _, after, ok := strings.Cut(rest, ":"); ok {
			model, _, _ := strings.Cut(after, "/")
			return model
		}
	}
	return ""
}
