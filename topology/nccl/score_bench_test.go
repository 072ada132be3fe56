package nccl

import (
	"testing"
)

// TestScorer scores the whole of the corpus as "railmap bench nccl" does, and a spoilt copy of it, which must show.
func TestScorer(t *testing.T) {
	rows, err := ReadVectors(corpus(t, "vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Scorer{Load: func(name string) (*XML, error) { return ReadXML(corpus(t, "xml/"+name)) }}
	score, err := s.Vectors(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range score {
		if v.ExactTupleShare != 1 || v.ChoiceShare != 1 || v.GivenChoiceShare != 1 ||
			max(*v.MaxTimeError, v.MaxBusError, *v.GivenMaxTimeError, v.GivenMaxBusError) > .005 {
			t.Errorf("%+v", v)
		}
	}
	if last := score[len(score)-1]; last.Machine != "all" || last.Rows != len(rows) {
		t.Errorf("last line %+v, must be over all rows", last)
	}
	t.Logf("all: %+v", score[len(score)-1])

	bad, err := ReadBadNodes(corpus(t, "bad_node_vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	score, err = s.BadNodes(bad, "azure-ndv5-8xH100-topo.xml", "SM=90 NVL=18 SPEED=400000")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range score {
		if v.ExactTupleShare != 1 || v.ChoiceShare != 1 || v.MaxTimeError != nil || max(v.MaxBusError, v.GivenMaxBusError) > .005 {
			t.Errorf("%+v", v)
		}
	}

	spoilt := rows[:26]
	spoilt[0].Graphs.Ring.Channels++
	spoilt[1].Best.Protocol = Simple
	spoilt[2].Best.TimeSeconds *= 2
	score, err = s.Vectors(spoilt)
	if err != nil {
		t.Fatal(err)
	}
	if v := score[0]; v.ExactTupleShare == 1 || v.ChoiceShare == 1 || *v.MaxTimeError < .4 || v.Wrong == "" {
		t.Errorf("spoilt rows must show: %+v", v)
	}
}
