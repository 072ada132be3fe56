package kubernetes

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// HostnameKey is the label that the kubelet puts on every node; the finest level of every tree.
const HostnameKey = "kubernetes.io/hostname"

// Limits of Kubernetes (k8s.io/apimachinery/pkg/util/validation).
const (
	maxLabelValue = 63
	maxKeyName    = 63
	maxSubdomain  = 253
)

// checkLabelValue tells whether s can be the value of a label: at most 63 characters, empty or [A-Za-z0-9] at both ends with
// '-', '_' and '.' between.
func checkLabelValue(s string) error {
	if len(s) > maxLabelValue {
		return fmt.Errorf("label value %q has %d characters: must have at most %d", s, len(s), maxLabelValue)
	}
	if s != "" && !isWord(s) {
		return fmt.Errorf("label value %q: must be letters, digits, '-', '_' and '.', with a letter or digit at both ends", s)
	}
	return nil
}

// checkLabelKey tells whether s is "[prefix/]name": the prefix a DNS name, the name like a label value.
func checkLabelKey(s string) error {
	prefix, name, cut := strings.Cut(s, "/")
	if !cut {
		prefix, name = "", s
	}
	if cut && !isSubdomain(prefix) {
		return fmt.Errorf("label key %q: the part before '/' must be a DNS name of at most %d lower-case characters", s, maxSubdomain)
	}
	if len(name) > maxKeyName || !isWord(name) {
		return fmt.Errorf("label key %q: the name must be 1 to %d letters, digits, '-', '_' and '.', with a letter or digit at both ends", s, maxKeyName)
	}
	return nil
}

// nodeName gives the name under which a kubelet registers a host: the host name in lower case.
func nodeName(host string) (string, error) {
	name := strings.ToLower(host)
	if !isSubdomain(name) {
		return "", fmt.Errorf("node %q cannot be a Kubernetes node: the name must be a DNS name of letters, digits, '-' and '.': give the Kubernetes name with an alias", host)
	}
	return name, nil
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isAlnum(s[i]) && (i == 0 || i == len(s)-1 || !strings.ContainsRune("-_.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

func isSubdomain(s string) bool {
	if len(s) > maxSubdomain {
		return false
	}
	for _, label := range strings.Split(s, ".") {
		if label == "" || strings.ToLower(label) != label || !isWord(label) || strings.Contains(label, "_") {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// labelValue makes a valid label value of any name. A good name stays; a longer one becomes "x" and its FNV-64a hash in hex,
// as topograph does; other characters become '-' and the hash keeps two such names apart.
func labelValue(name string) string {
	if name != "" && checkLabelValue(name) == nil {
		return name
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := fmt.Sprintf("x%x", h.Sum64())
	if len(name) > maxLabelValue || name == "" {
		return sum
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && (isAlnum(byte(r)) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '-'
	}, name)
	clean = strings.Trim(clean, "-_.")
	if clean == "" || len(clean)+1+len(sum) > maxLabelValue {
		return sum
	}
	return clean + "." + sum
}
