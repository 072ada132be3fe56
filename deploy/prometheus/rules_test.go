package prometheus

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const rulesFile = "railmap.rules.yaml"

// ruleFile is a file of rules, as far as these tests look at it.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// program finds a real tool; without it the test is skipped, or fails where the real ones are required.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("%s is missing: run .ci/install-deps", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

func readRules(t *testing.T) []rule {
	t.Helper()
	data, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	var f ruleFile
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// TestRules runs promtool's own tests of the rules.
func TestRules(t *testing.T) {
	tool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", "railmap.rules.test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAlertsAreExplained wants for each alert a page that says what to do, and a test that it fires.
func TestAlertsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("railmap.rules.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		if !strings.Contains(string(page), "\n## "+r.Alert+"\n") {
			t.Errorf("docs/alerts.md: must have a section %s", r.Alert)
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/alerts.md#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s: runbook_url is %q: must point at its section of docs/alerts.md", r.Alert, r.Annotations["runbook_url"])
		}
		if r.For == "" || r.Labels["severity"] == "" {
			t.Errorf("%s: must have for and a severity", r.Alert)
		}
		if !strings.Contains(string(tests), "alertname: "+r.Alert+"\n    exp_alerts:") {
			t.Errorf("%s: no test shows that it fires", r.Alert)
		}
	}
}
