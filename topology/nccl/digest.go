package nccl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Digest names the hardware that a document describes: nodes of one kind have one digest, whatever their host hash, bus
// numbers, GUIDs and CPU masks are. Everything that the search looks at is in it, and the names of the NICs, so that equal
// digests give equal results. It is the hexadecimal SHA-256 of a normal form.
func (x *XML) Digest() string {
	h := sha256.New()
	d := digester{out: h, hosts: names{}, buses: names{}, guids: names{}}
	// A link may point at a device further down: all devices are numbered first.
	x.Root.walk(func(e *Element, above []*Element) {
		if e.Name == "pci" {
			d.bus(e, "busid")
		}
	})
	d.element(x.Root)
	return hex.EncodeToString(h.Sum(nil))
}

// names numbers texts by appearance.
type names map[string]int

func (n names) of(text string) string {
	i, ok := n[text]
	if !ok {
		i = len(n)
		n[text] = i
	}
	return strconv.Itoa(i)
}

type digester struct {
	out          io.Writer
	hosts, buses names
	guids        names
}

// element writes one element in normal form: known attributes in a fixed order, names as numbers.
func (d *digester) element(e *Element) {
	rule, known := elementRules[e.Name]
	if !known {
		return
	}
	fmt.Fprintf(d.out, "<%s", e.Name)
	if e.Name == "cpu" {
		host, _ := e.Get("host_hash")
		fmt.Fprintf(d.out, " host=%s", d.hosts.of(host))
	}
	for _, list := range [][]string{rule.must, rule.fills, rule.may} {
		for _, a := range list {
			if v, ok := e.Get(a); ok {
				if v, use := d.value(e, a, v); use {
					fmt.Fprintf(d.out, " %s=%q", a, v)
				}
			}
		}
	}
	io.WriteString(d.out, ">")
	for _, c := range e.Children {
		d.element(c)
	}
	io.WriteString(d.out, "</>")
}

// value is an attribute in normal form; false for one that changes nothing.
func (d *digester) value(e *Element, attr, text string) (string, bool) {
	switch attr {
	case "affinity", "keep", "version", "maxconn", "coll", "host_hash":
		return "", false
	case "name":
		return text, true
	case "latency":
		v, _ := e.decimal(attr)
		return shortest(v), true
	case "guid":
		return d.guids.of(strings.ToLower(text)), true
	case "busid", "target":
		return d.bus(e, attr), true
	}
	if n, err := e.number(attr, 0); err == nil && strings.TrimSpace(text) != "" {
		return strconv.Itoa(n), true
	}
	return text, true
}

// bus numbers a bus id. Targets that are no device of the document are what the class says: an NVSwitch.
func (d *digester) bus(e *Element, attr string) string {
	text, _ := e.Get(attr)
	id, err := ParseBusID(text)
	if err != nil {
		return text
	}
	key := strconv.FormatUint(id, 16)
	if attr == "target" {
		if _, listed := d.buses[key]; !listed {
			return "elsewhere"
		}
	}
	return d.buses.of(key)
}
