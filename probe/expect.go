package probe

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed expectations.yaml
var builtinExpectations []byte

// maxExpectations bounds a file of expectations.
const maxExpectations = 1 << 20

// Expectations is a table of what hardware should deliver. The first entry that matches counts.
type Expectations struct {
	GPUs []GPUExpectation `yaml:"gpus"`
	NICs []NICExpectation `yaml:"nics"`
}

// GPUExpectation is what GPUs of a model should deliver. What is absent is not judged.
type GPUExpectation struct {
	Model          string `yaml:"model"` // words that must all stand in the GPU's name, in any case
	PCIeGeneration int    `yaml:"pcieGeneration,omitempty"`
	PCIeWidth      int    `yaml:"pcieWidth,omitempty"`
	NVLinks        int    `yaml:"nvlinks,omitempty"`
	Host           *Band  `yaml:"host,omitempty"`      // copies between GPU and its own NUMA node, one way, bytes per second
	Peer           *Band  `yaml:"peer,omitempty"`      // copies between GPUs over NVLink, one way, bytes per second
	AllReduce      *Band  `yaml:"allReduce,omitempty"` // bus bandwidth of 1 GiB over the 8 GPUs of a node, bytes per second
}

// NICExpectation is what a port of a rate should deliver.
type NICExpectation struct {
	Rate  float64 `yaml:"rate"` // bytes per second
	Write *Band   `yaml:"write,omitempty"`
	GPU   *Band   `yaml:"gpu,omitempty"`
}

// Band is an expected figure and the least that is acceptable, both in bytes per second, and where they come from.
type Band struct {
	Expected float64 `yaml:"expected"`
	Floor    float64 `yaml:"floor"`
	Source   string  `yaml:"source,omitempty"`
}

// DefaultExpectations is the built-in table.
func DefaultExpectations() (*Expectations, error) {
	return ReadExpectations(bytes.NewReader(builtinExpectations), "built-in expectations")
}

// ReadExpectations reads a table; name is used in messages. Unknown fields and impossible figures are errors.
func ReadExpectations(r io.Reader, name string) (*Expectations, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxExpectations+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxExpectations {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxExpectations)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var e Expectations
	if err := dec.Decode(&e); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", name, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "probe.", ""))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: holds a second document: must hold one", name)
	}
	if err := e.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &e, nil
}

// Extend puts the entries of a user's table before the others, so that they win.
func (e *Expectations) Extend(more *Expectations) *Expectations {
	return &Expectations{GPUs: append(more.GPUs[:len(more.GPUs):len(more.GPUs)], e.GPUs...), NICs: append(more.NICs[:len(more.NICs):len(more.NICs)], e.NICs...)}
}

func (e *Expectations) validate() error {
	var errs []error
	for i, g := range e.GPUs {
		field := fmt.Sprintf("gpus[%d]", i)
		if strings.TrimSpace(g.Model) == "" {
			errs = append(errs, fmt.Errorf("%s.model: must not be empty", field))
		}
		errs = append(errs, g.Host.validate(field+".host"), g.Peer.validate(field+".peer"), g.AllReduce.validate(field+".allReduce"))
	}
	for i, n := range e.NICs {
		field := fmt.Sprintf("nics[%d]", i)
		if !(n.Rate > 0 && n.Rate < 1e15) {
			errs = append(errs, fmt.Errorf("%s.rate is %g: must be between 0 and 1e15 bytes per second", field, n.Rate))
		}
		errs = append(errs, n.Write.validate(field+".write"), n.GPU.validate(field+".gpu"))
	}
	return errors.Join(errs...)
}

func (b *Band) validate(field string) error {
	if b == nil {
		return nil
	}
	if math.IsNaN(b.Expected) || math.IsNaN(b.Floor) || b.Floor < 0 || b.Expected < b.Floor || b.Expected > 1e15 {
		return fmt.Errorf("%s: floor %g and expected %g must satisfy 0 <= floor <= expected <= 1e15 bytes per second", field, b.Floor, b.Expected)
	}
	return nil
}

// scaled is a band for a part that can only reach a share of what was expected; a share of 1 or more changes nothing.
func (b *Band) scaled(share float64) *Band {
	if b == nil || share >= 1 {
		return b
	}
	return &Band{Expected: b.Expected * share, Floor: b.Floor * share, Source: fmt.Sprintf("%.0f %% for the slot; %s", share*100, b.Source)}
}

// gpu finds the entry of a model; nil when there is none.
func (e *Expectations) gpu(model string) *GPUExpectation {
	if e == nil || model == "" {
		return nil
	}
	have := map[string]bool{}
	for _, w := range words(model) {
		have[w] = true
	}
	for i := range e.GPUs {
		all := true
		for _, w := range words(e.GPUs[i].Model) {
			all = all && have[w]
		}
		if all {
			return &e.GPUs[i]
		}
	}
	return nil
}

// words splits a model name: "Tesla V100-SXM2-32GB" -> tesla, v100, sxm2, 32gb. A trailing S, as in L40S, is a variant of
// the same board and matches without it too.
func words(s string) []string {
	w := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' })
	for _, word := range w {
		if short, ok := strings.CutSuffix(word, "s"); ok && len(short) > 1 && strings.Trim(short[1:], "0123456789") == "" {
			w = append(w, short)
		}
	}
	return w
}

// nic finds the entry of a rate, within 1 %; nil when there is none.
func (e *Expectations) nic(rate float64) *NICExpectation {
	if e == nil {
		return nil
	}
	for i := range e.NICs {
		if math.Abs(e.NICs[i].Rate-rate) <= 0.01*rate {
			return &e.NICs[i]
		}
	}
	return nil
}
