package topology

import (
	"errors"
	"fmt"
	"math"
)

// maxBandwidth refuses absurd figures: 1 PB/s on one link is beyond any machine.
const maxBandwidth = 1e15

// Validate checks a pair report.
func (r *PairReport) Validate() error {
	var errs []error
	for i, p := range r.Pairs {
		if p.A == "" || p.B == "" {
			errs = append(errs, fmt.Errorf("pairs[%d]: a and b must name two nodes", i))
		}
		errs = append(errs, checkMeasurement(fmt.Sprintf("pairs[%d].bandwidthBytesPerSecond", i), p.BandwidthBytesPerSecond, maxBandwidth),
			checkMeasurement(fmt.Sprintf("pairs[%d].latencySeconds", i), p.LatencySeconds, 3600))
	}
	return errors.Join(errs...)
}

// Validate checks a fabric report: ends must exist, numbers must be sane.
func (r *FabricReport) Validate() error {
	var errs []error
	n := int32(len(r.Devices))
	for i, l := range r.Links {
		if l.A.Device < 0 || l.A.Device >= n || l.B.Device < 0 || l.B.Device >= n {
			errs = append(errs, fmt.Errorf("links[%d]: a.device and b.device must be between 0 and %d, the devices of this report", i, n-1))
		}
		errs = append(errs, checkNumber(fmt.Sprintf("links[%d].bandwidthBytesPerSecond", i), l.BandwidthBytesPerSecond, maxBandwidth))
	}
	return errors.Join(errs...)
}

func checkMeasurement(field string, m *Measurement, limit float64) error {
	if m == nil {
		return nil
	}
	return errors.Join(checkNumber(field+".value", m.Value, limit), checkNumber(field+".spread", m.Spread, 1e6))
}

func checkNumber(field string, v, limit float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v > limit {
		return fmt.Errorf("%s is %v: must be between 0 and %g", field, v, limit)
	}
	return nil
}
