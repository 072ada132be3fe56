package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters/prometheus"
	"github.com/railmap/railmap/topology"
)

// TestReference makes the pages of docs/reference from the tables of the source, and compares; -update writes them.
func TestReference(t *testing.T) {
	for name, text := range map[string]string{
		"api.md":        apiPage(t),
		"commands.md":   commandsPage(),
		"exit-codes.md": exitCodesPage(),
		"findings.md":   findingsPage(),
		"metrics.md":    metricsPage(),
	} {
		t.Run(name, func(t *testing.T) { comparePage(t, filepath.Join("docs", "reference", name), text) })
	}
}

// commandsPage shows the help of every command.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the source: what `railmap COMMAND --help` prints.\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" || c.IsAdditionalHelpTopicCommand() {
			return
		}
		text := c.Long
		if text == "" {
			text = c.Short
		}
		c.InitDefaultHelpFlag()
		usage := strings.TrimRight(c.UsageString(), "\n")
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n\n%s\n```\n", c.CommandPath(), strings.TrimSpace(text), usage)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	e := &env{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	walk(newRootCmd(e, func() {}))
	return b.String()
}

// apiPage lists the operations of the OpenAPI document that the server serves.
func apiPage(t *testing.T) string {
	data, err := os.ReadFile("placer/server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# HTTP API\n\nMade from the OpenAPI document, which `railmap serve` serves at `/openapi.json` and in readable form at `/docs`.\n\n| operation | what |\n|---|---|\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range []string{"get", "post", "put", "delete"} {
			raw, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			var op struct{ Summary string }
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "| `%s %s` | %s |\n", strings.ToUpper(method), path, mdCell(op.Summary))
		}
	}
	return b.String()
}

func exitCodesPage() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\nMade from the source. The numbers are the same for every command and are only ever added to.\n\n| code | name | meaning |\n|---|---|---|\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.code, e.name, mdCell(e.meaning))
	}
	return b.String()
}

func findingsPage() string {
	var b strings.Builder
	b.WriteString("# Findings\n\nMade from the source. The finding itself names the node, NIC, switch or cable, and says what to do there.\n\n| code | severity | meaning | remedy |\n|---|---|---|---|\n")
	for _, k := range topology.FindingKinds() {
		var severities []string
		for _, s := range k.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Code, strings.Join(severities, ", "), mdCell(k.Meaning), mdCell(k.Remedy))
	}
	return b.String()
}

func metricsPage() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nMade from the source. Bound is the most series that one server can have of a metric, whatever the size of the cluster.\n\n" +
		"| metric | labels | bound | meaning |\n|---|---|---|---|\n")
	for _, m := range prometheus.Table() {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", m.Name, mdCell(strings.Join(m.Labels, ", ")), m.Bound, mdCell(m.Help))
	}
	return b.String()
}

// mdCell keeps a text inside its cell of a table.
func mdCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// TestReferenceIsWhole looks for pages that nobody links.
func TestReferenceIsWhole(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			link := strings.TrimPrefix(p, "docs/")
			if link != "README.md" && !strings.Contains(string(index), "("+link+")") {
				t.Errorf("docs/README.md has no link to %s", link)
			}
		}
	}
}
