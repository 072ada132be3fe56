package nccl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of the reader. NCCL itself takes 16 attributes an element and 255 characters a value; its element count is smaller
// (256 a rank), which Check reports without refusing the file.
const (
	maxXMLBytes    = 8 << 20
	maxXMLElements = 1 << 16
	maxXMLDepth    = 64
	maxXMLAttrs    = 16
	maxXMLValue    = 255
)

// ErrXMLLimit is wrapped by errors about a file that is larger than the reader accepts.
var ErrXMLLimit = errors.New("file is over the limits of the reader")

// ReadXML reads a topology file. It fails, with the line, on what is not XML, on a root other than "system", on values that
// are no numbers where numbers must stand, and on files over the limits; what NCCL would miss or not know is kept and is
// told by Check.
func ReadXML(r io.Reader) (*XML, error) {
	root, err := readElements(r, "system")
	if err != nil {
		return nil, err
	}
	x := &XML{Root: root}
	return x, x.checkValues()
}

// readElements reads one document into elements; the root must have the given name.
func readElements(r io.Reader, rootName string) (*Element, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxXMLBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read NCCL XML: %w", err)
	}
	if len(data) > maxXMLBytes {
		return nil, fmt.Errorf("read NCCL XML: more than %d bytes: %w", maxXMLBytes, ErrXMLLimit)
	}
	p := elementParser{dec: xml.NewDecoder(bytes.NewReader(data))}
	for {
		tok, err := p.dec.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("NCCL XML line %d: %s", p.line(), strings.TrimPrefix(err.Error(), "XML syntax error on "))
		}
		if err := p.token(tok); err != nil {
			return nil, fmt.Errorf("NCCL XML line %d: %w", p.line(), err)
		}
	}
	return p.finish(rootName)
}

// elementParser builds the tree from tokens; the stack is explicit so that depth has a limit.
type elementParser struct {
	dec      *xml.Decoder
	root     *Element
	stack    []*Element
	comments []string
	count    int
}

func (p *elementParser) line() int {
	line, _ := p.dec.InputPos()
	return line
}

func (p *elementParser) token(tok xml.Token) error {
	switch t := tok.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		return p.end(rawName(t.Name))
	case xml.Comment:
		p.comments = append(p.comments, string(t))
	case xml.CharData:
		if text := strings.TrimSpace(string(t)); text != "" && text != "\ufeff" {
			return fmt.Errorf("text %.20q outside of a tag: must hold elements and attributes only", text)
		}
	}
	return nil
}

func (p *elementParser) start(t xml.StartElement) error {
	e := &Element{Name: rawName(t.Name), Comments: p.comments, Line: p.line()}
	p.comments = nil
	if p.count++; p.count > maxXMLElements {
		return fmt.Errorf("more than %d elements: %w", maxXMLElements, ErrXMLLimit)
	}
	if len(p.stack) >= maxXMLDepth {
		return fmt.Errorf("elements nest deeper than %d: %w", maxXMLDepth, ErrXMLLimit)
	}
	if len(t.Attr) > maxXMLAttrs {
		return fmt.Errorf("%s has %d attributes: NCCL takes at most %d: %w", e.Name, len(t.Attr), maxXMLAttrs, ErrXMLLimit)
	}
	for _, a := range t.Attr {
		name := rawName(a.Name)
		if _, twice := e.Get(name); twice {
			return fmt.Errorf("%s has attribute %s twice: must have it once", e.Name, name)
		}
		if len(a.Value) > maxXMLValue || len(name) > maxXMLValue {
			return fmt.Errorf("%s: attribute %.40s is longer than the %d characters that NCCL takes: %w", e.Name, name, maxXMLValue, ErrXMLLimit)
		}
		e.Attrs = append(e.Attrs, Attr{name, a.Value})
	}
	return p.push(e)
}

func (p *elementParser) push(e *Element) error {
	if len(p.stack) > 0 {
		top := p.stack[len(p.stack)-1]
		top.Children = append(top.Children, e)
	} else if p.root != nil {
		return fmt.Errorf("second root element %s: must hold one", e.Name)
	} else {
		p.root = e
	}
	p.stack = append(p.stack, e)
	return nil
}

func (p *elementParser) end(name string) error {
	if len(p.stack) == 0 {
		return fmt.Errorf("end tag %s without a start tag", name)
	}
	top := p.stack[len(p.stack)-1]
	if top.Name != name {
		return fmt.Errorf("end tag %s closes %s of line %d: must be </%s>", name, top.Name, top.Line, top.Name)
	}
	p.stack = p.stack[:len(p.stack)-1]
	return nil
}

func (p *elementParser) finish(rootName string) (*Element, error) {
	switch {
	case p.root == nil:
		return nil, fmt.Errorf("NCCL XML: empty: must hold a %s element", rootName)
	case len(p.stack) > 0:
		top := p.stack[len(p.stack)-1]
		return nil, fmt.Errorf("NCCL XML line %d: %s is not closed: must end with </%s>", top.Line, top.Name, top.Name)
	case p.root.Name != rootName:
		return nil, fmt.Errorf("NCCL XML line %d: root is %s: must be %s", p.root.Line, p.root.Name, rootName)
	}
	return p.root, nil
}

// rawName gives the name as written, prefix included: NCCL knows no name spaces.
func rawName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}
