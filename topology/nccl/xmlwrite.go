package nccl

import (
	"bufio"
	"encoding/xml"
	"io"
	"strings"
)

// Write writes the document in the layout of NCCL's own dumps: two spaces a level, one element a line. Reading it back gives
// the same elements, attributes and values in the same order.
func (x *XML) Write(w io.Writer) error { return writeElements(w, x.Root) }

func writeElements(w io.Writer, root *Element) error {
	bw := bufio.NewWriter(w)
	writeElement(bw, root, 0)
	return bw.Flush()
}

// writeElement writes one element; the bufio.Writer keeps the first error until Flush.
func writeElement(w *bufio.Writer, e *Element, depth int) {
	indent := strings.Repeat("  ", depth)
	for _, c := range e.Comments {
		w.WriteString(indent + "<!--" + c + "-->\n")
	}
	w.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attrs {
		w.WriteString(" " + a.Name + `="`)
		xml.EscapeText(w, []byte(a.Value))
		w.WriteString(`"`)
	}
	if len(e.Children) == 0 {
		w.WriteString("/>\n")
		return
	}
	w.WriteString(">\n")
	for _, c := range e.Children {
		writeElement(w, c, depth+1)
	}
	w.WriteString(indent + "</" + e.Name + ">\n")
}
