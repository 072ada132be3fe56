package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// Formats of -o. Each command offers some of them.
const (
	formatTable    = "table"
	formatWide     = "wide"
	formatJSON     = "json"
	formatYAML     = "yaml"
	formatName     = "name"
	formatHostlist = "hostlist"
)

// Cells that hold no figure: a dash where there is nothing to say, <unknown> where nobody measured.
const (
	notApplicable = "-"
	unknown       = "<unknown>"
)

// output is the value of -o and what goes with it.
type output struct {
	format    string
	noHeaders bool
	allowed   []string
}

// addOutput adds -o with the formats that a command offers (the first is the default) and, when it offers a table,
// --no-headers.
func addOutput(c *cobra.Command, o *output, allowed ...string) {
	o.format, o.allowed = allowed[0], allowed
	c.Flags().VarP(o, "output", "o", "output format: "+strings.Join(allowed, "|"))
	if slices.Contains(allowed, formatTable) {
		c.Flags().BoolVar(&o.noHeaders, "no-headers", false, "print the table without its header line")
	}
}

// String is the format now chosen.
func (o *output) String() string { return o.format }

// Type is the placeholder in the help.
func (o *output) Type() string { return "FORMAT" }

// Set refuses formats that the command does not offer.
func (o *output) Set(s string) error {
	if !slices.Contains(o.allowed, s) {
		return fmt.Errorf("must be one of %s%s", strings.Join(o.allowed, ", "), didYouMean("", s, o.allowed))
	}
	o.format = s
	return nil
}

// document writes doc as json or yaml to stdout, and tells whether it did: any other format is the command's own.
func (o *output) document(e *env, doc any) (bool, error) {
	switch o.format {
	case formatJSON:
		return true, topology.Write(e.stdout, doc, topology.JSON)
	case formatYAML:
		return true, topology.Write(e.stdout, doc, topology.YAML)
	}
	return false, nil
}

// table is aligned text: upper-case headers without spaces, numbers to the right, two blanks between columns.
type table struct {
	columns []column
	rows    [][]string
}

// column is one column. Wide columns are shown by -o wide only.
type column struct {
	header string
	right  bool // numbers
	wide   bool
}

// newTable makes a table. A header with a leading ">" is a column of numbers; a trailing "+" shows it in -o wide only.
func newTable(headers ...string) *table {
	t := &table{}
	for _, h := range headers {
		c := column{right: strings.HasPrefix(h, ">"), wide: strings.HasSuffix(h, "+")}
		c.header = strings.TrimSuffix(strings.TrimPrefix(h, ">"), "+")
		t.columns = append(t.columns, c)
	}
	return t
}

// add appends a row: one value for each column, see cell.
func (t *table) add(values ...any) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = notApplicable
		if i < len(values) {
			row[i] = cell(values[i])
		}
	}
	t.rows = append(t.rows, row)
}

// write prints the table as o asks.
func (t *table) write(w io.Writer, o *output) error {
	var show []int
	width := make([]int, len(t.columns))
	for i, c := range t.columns {
		if c.wide && o.format != formatWide {
			continue
		}
		show = append(show, i)
		if !o.noHeaders {
			width[i] = len(c.header)
		}
		for _, r := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	var b strings.Builder
	if !o.noHeaders {
		heads := make([]string, len(t.columns))
		for i, c := range t.columns {
			heads[i] = c.header
		}
		t.line(&b, heads, show, width)
	}
	for _, r := range t.rows {
		t.line(&b, r, show, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) line(b *strings.Builder, row []string, show, width []int) {
	var line strings.Builder
	for k, i := range show {
		if k > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(row[i]))
		if t.columns[i].right {
			line.WriteString(pad + row[i])
		} else {
			line.WriteString(row[i] + pad)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// cell formats one value: "" is not applicable, a nil pointer is unknown, floats have three significant digits.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return unknown
	case string:
		if v == "" {
			return notApplicable
		}
		return strings.Map(printable, v)
	case *float64:
		if v == nil {
			return unknown
		}
		return significant(*v)
	case *int:
		if v == nil {
			return unknown
		}
		return strconv.Itoa(*v)
	case float64:
		return significant(v)
	}
	return cell(fmt.Sprint(v))
}

// significant prints three significant digits without an exponent: 0.49, 23.9, 400.
func significant(v float64) string {
	digits := 2
	for limit := 10.0; digits > 0 && (v >= limit || v <= -limit); limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// printable keeps control bytes of foreign names away from the terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return '?'
	}
	return r
}
