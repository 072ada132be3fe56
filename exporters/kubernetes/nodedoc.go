package kubernetes

import "strings"

// label is one label of a node.
type label struct{ key, value string }

// writeNode writes the document that server-side apply needs to own exactly these labels of a node, and nothing else of it.
// labels are sorted by key.
func writeNode(b *strings.Builder, name string, labels []label) {
	b.WriteString("---\napiVersion: v1\nkind: Node\nmetadata:\n  name: ")
	b.WriteString(plain(name))
	b.WriteString("\n  labels:\n")
	for _, l := range labels {
		b.WriteString("    ")
		b.WriteString(plain(l.key))
		b.WriteString(": ")
		b.WriteString(quoted(l.value))
		b.WriteByte('\n')
	}
}
