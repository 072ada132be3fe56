package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// XML is one NCCL topology document: a "system" element with its "cpu" elements, as NCCL_TOPO_DUMP_FILE writes it and
// NCCL_TOPO_FILE reads it. The tree keeps every element and attribute in file order, those that NCCL does not know included;
// Check names them.
type XML struct {
	Root *Element
}

// Element is one element of a topology or graph file.
type Element struct {
	Name     string
	Attrs    []Attr
	Children []*Element
	Comments []string // comments that stand before the element, such as a licence
	Line     int      // line of its tag in the file; 0 for an element that was made, not read
}

// Attr is one attribute; the value is kept as written.
type Attr struct {
	Name, Value string
}

// NewXML makes an empty topology document.
func NewXML() *XML {
	return &XML{Root: &Element{Name: "system", Attrs: []Attr{{"version", "1"}}}}
}

// Clone makes a deep copy.
func (x *XML) Clone() *XML { return &XML{Root: x.Root.clone()} }

func (e *Element) clone() *Element {
	c := &Element{Name: e.Name, Attrs: slices.Clone(e.Attrs), Comments: slices.Clone(e.Comments), Line: e.Line}
	for _, sub := range e.Children {
		c.Children = append(c.Children, sub.clone())
	}
	return c
}

// Get returns the value of an attribute and whether it is there.
func (e *Element) Get(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Set gives an attribute a value, in place or at the end.
func (e *Element) Set(name, value string) {
	for i := range e.Attrs {
		if e.Attrs[i].Name == name {
			e.Attrs[i].Value = value
			return
		}
	}
	e.Attrs = append(e.Attrs, Attr{name, value})
}

// Add appends a child with the given attributes, name and value in turn.
func (e *Element) Add(name string, attrs ...string) *Element {
	c := &Element{Name: name}
	for i := 0; i+1 < len(attrs); i += 2 {
		c.Attrs = append(c.Attrs, Attr{attrs[i], attrs[i+1]})
	}
	e.Children = append(e.Children, c)
	return c
}

// Child returns the first child of that name, or nil.
func (e *Element) Child(name string) *Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// walk visits the element and all below it in file order, with the chain of elements above each (the root first).
func (e *Element) walk(visit func(e *Element, above []*Element)) {
	var step func(e *Element, above []*Element)
	step = func(e *Element, above []*Element) {
		visit(e, above)
		above = append(above, e)
		for _, c := range e.Children {
			step(c, above)
		}
	}
	step(e, nil)
}

// number reads an integer attribute as NCCL does: decimal, 0x hexadecimal or 0 octal. An attribute that is absent or blank
// gives the default.
func (e *Element) number(name string, absent int) (int, error) {
	s, _ := e.Get(name)
	if s = strings.TrimSpace(s); s == "" {
		return absent, nil
	}
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil || v != int64(int(v)) {
		return 0, e.errorf("%s is %q: must be a whole number", name, s)
	}
	return int(v), nil
}

// natural reads a count or width: a number from 0 to a million, 0 when absent.
func (e *Element) natural(name string) (int, error) {
	v, err := e.number(name, 0)
	if err == nil && (v < 0 || v > 1e6) {
		err = e.errorf("%s is %d: must be from 0 to 1000000", name, v)
	}
	return v, err
}

// hex reads a hexadecimal attribute, with or without 0x; the second result says whether it is there.
func (e *Element) hex(name string) (uint64, bool, error) {
	s, ok := e.Get(name)
	if s = strings.TrimSpace(s); !ok || s == "" {
		return 0, false, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"), 16, 64)
	if err != nil {
		return 0, false, e.errorf("%s is %q: must be hexadecimal", name, s)
	}
	return v, true, nil
}

// decimal reads an attribute such as latency; absent or blank gives 0.
func (e *Element) decimal(name string) (float64, error) {
	s, _ := e.Get(name)
	if s = strings.TrimSpace(s); s == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v || v < 0 || v > 1e9 {
		return 0, e.errorf("%s is %q: must be a number between 0 and 1e9", name, s)
	}
	return v, nil
}

// errorf is an error with the place of the element.
func (e *Element) errorf(format string, args ...any) error {
	return fmt.Errorf("NCCL XML line %d: %s: %s", e.Line, e.label(), fmt.Sprintf(format, args...))
}

// label names an element for people: its tag and what tells it from its neighbours.
func (e *Element) label() string {
	for _, key := range []string{"busid", "numaid", "name", "dev", "target", "id"} {
		if v, ok := e.Get(key); ok {
			return e.Name + " " + v
		}
	}
	return e.Name
}

// ParseBusID reads a PCI address such as "0000:0c:00.0" into one number. NCCL accepts domains of any length ("fffffff:ffff:ff").
func ParseBusID(s string) (uint64, error) {
	digits := strings.NewReplacer(":", "", ".", "").Replace(strings.TrimSpace(s))
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("bus id %q: must look like 0000:0c:00.0", s)
	}
	return v, nil
}
