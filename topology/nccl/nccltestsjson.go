package nccl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// testsJSON is what we read of the file that nccl-tests' -J option writes. Its env list is left alone: it holds whatever
// the user's shell did.
type testsJSON struct {
	Args        []string `json:"args"`
	NCCLVersion int      `json:"nccl_version"`
	Devices     []struct {
		Hostname   string `json:"hostname"`
		DeviceInfo string `json:"device_info"`
	} `json:"devices"`
	Results []struct {
		Size       uint64      `json:"size"`
		OutOfPlace *figureJSON `json:"out_of_place"`
		InPlace    *figureJSON `json:"in_place"`
		Experiment string      `json:"experiment_name"`
	} `json:"results"`
}

// figureJSON holds numbers or the text "nan".
type figureJSON struct {
	Time    json.RawMessage `json:"time"`
	CPUTime json.RawMessage `json:"cpu_time"`
	BusBw   json.RawMessage `json:"bus_bw"`
}

func readTestsJSON(b []byte) (*TestRun, error) {
	var in testsJSON
	if err := json.Unmarshal(b, &in); err != nil {
		at := int64(len(b))
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		} else if errors.As(err, &kind) {
			at = kind.Offset
		}
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(b[:min(at, int64(len(b)))], []byte("\n")), err)
	}
	if len(in.Results) > maxTestRows {
		return nil, fmt.Errorf("more than %d rows: must be the output of one run", maxTestRows)
	}
	run := &TestRun{NCCLVersion: versionOfCode(strconv.Itoa(in.NCCLVersion))}
	if len(in.Args) > 0 {
		if c, err := ParseCollective(filepath.Base(in.Args[0])); err == nil {
			run.Collective = c
		}
	}
	for _, d := range in.Devices {
		if err := run.addRank(d.Hostname, d.DeviceInfo); err != nil {
			return nil, err
		}
	}
	for i, r := range in.Results {
		row := TestRow{SizeBytes: r.Size}
		var err error
		if row.OutOfPlace, err = r.OutOfPlace.figure(); err != nil {
			return nil, fmt.Errorf("results[%d].out_of_place: %w", i, err)
		}
		if row.InPlace, err = r.InPlace.figure(); err != nil {
			return nil, fmt.Errorf("results[%d].in_place: %w", i, err)
		}
		if run.Collective == "" {
			if c, err := ParseCollective(strings.ToLower(r.Experiment)); err == nil {
				run.Collective = c
			}
		}
		run.Rows = append(run.Rows, row)
	}
	return run, run.check()
}

func (f *figureJSON) figure() (*TestFigure, error) {
	if f == nil {
		return nil, nil
	}
	text := f.Time
	if len(text) == 0 {
		text = f.CPUTime
	}
	word := []string{strings.Trim(string(text), `"`), "", strings.Trim(string(f.BusBw), `"`)}
	if word[0] == "nan" || word[0] == "null" || word[0] == "" {
		return nil, nil
	}
	return testFigure(word, 0)
}
