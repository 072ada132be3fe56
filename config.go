package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/placer/ledger"
)

// config is the file of railmap serve. Flags override RAILMAP_* variables, which override the file, which overrides the
// defaults.
type config struct {
	Listen   string        `yaml:"listen"`
	Data     string        `yaml:"data"`
	Store    string        `yaml:"store"`
	Topology string        `yaml:"topology"`
	Insecure bool          `yaml:"insecure"`
	Tokens   string        `yaml:"tokens"`
	TLS      tlsConfig     `yaml:"tls"`
	Log      logConfig     `yaml:"log"`
	Metrics  metricsConfig `yaml:"metrics"`
}

// tlsConfig names PEM files, and certificate names (SAN) with more rights than a reporter has.
type tlsConfig struct {
	Cert       string   `yaml:"cert"`
	Key        string   `yaml:"key"`
	ClientCA   string   `yaml:"clientCA"`
	Admins     []string `yaml:"admins"`
	Requesters []string `yaml:"requesters"`
}

type logConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto, text, json
}

type metricsConfig struct {
	MaxSwitches int `yaml:"maxSwitches"` // above it uplinks are not shown one by one
}

// defaultConfig is what holds where nothing is said.
func defaultConfig() config {
	return config{Listen: "127.0.0.1:7070", Data: "railmap-data", Log: logConfig{Level: "info", Format: "auto"}, Metrics: metricsConfig{MaxSwitches: 4096}}
}

// readConfig reads a file strictly over the defaults. "" is the defaults.
func readConfig(path string) (config, error) {
	c := defaultConfig()
	if path == "" {
		return c, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	return c, parseConfig(data, path, &c)
}

// parseConfig decodes strictly; all problems are told at once.
func parseConfig(data []byte, name string, c *config) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err := dec.Decode(c)
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		return fmt.Errorf("%s: %s", name, strings.NewReplacer(" in type main.config", "", " in type main.tlsConfig", " below tls",
			" in type main.logConfig", " below log", " in type main.metricsConfig", " below metrics").Replace(strings.Join(te.Errors, "; ")))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := c.validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// validate names every wrong field by its path in the file.
func (c *config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Listen == "" || !strings.Contains(c.Listen, ":") {
		bad("listen is %q: must be HOST:PORT", c.Listen)
	}
	if c.Data == "" {
		bad("data: must be a folder")
	}
	if c.Store != "" {
		if _, err := ledger.ParseAddress(c.Store); err != nil {
			bad("store: %w", err)
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		bad("tls.cert and tls.key: must be given together")
	}
	if c.TLS.ClientCA != "" && c.TLS.Cert == "" {
		bad("tls.clientCA: needs tls.cert and tls.key")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		bad("log.level is %q: must be debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"auto", "text", "json"}, c.Log.Format) {
		bad("log.format is %q: must be auto, text or json", c.Log.Format)
	}
	if c.Metrics.MaxSwitches < 0 || c.Metrics.MaxSwitches > 8192 {
		bad("metrics.maxSwitches is %d: must be between 0 and 8192", c.Metrics.MaxSwitches)
	}
	return errors.Join(errs...)
}

// needRestart names what differs between two configurations and is read at the start only.
func (c *config) needRestart(n *config) []string {
	var out []string
	for _, k := range []struct {
		name    string
		differs bool
	}{
		{"listen", c.Listen != n.Listen}, {"data", c.Data != n.Data}, {"store", c.Store != n.Store}, {"topology", c.Topology != n.Topology}, {"insecure", c.Insecure != n.Insecure},
		{"tokens", c.Tokens != n.Tokens}, {"tls.cert", c.TLS.Cert != n.TLS.Cert}, {"tls.key", c.TLS.Key != n.TLS.Key}, {"tls.clientCA", c.TLS.ClientCA != n.TLS.ClientCA},
		{"tls.admins", !slices.Equal(c.TLS.Admins, n.TLS.Admins)}, {"tls.requesters", !slices.Equal(c.TLS.Requesters, n.TLS.Requesters)}, {"log.format", c.Log.Format != n.Log.Format},
	} {
		if k.differs {
			out = append(out, k.name)
		}
	}
	return out
}

// redacted hides a password in the address of the store.
func (c config) redacted() config {
	if scheme, rest, ok := strings.Cut(c.Store, "://"); ok {
		if _, host, ok := strings.Cut(rest, "@"); ok {
			c.Store = scheme + "://***@" + host
		}
	}
	return c
}
