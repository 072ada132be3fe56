package nccl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// TestRun is the result of one nccl-tests program.
type TestRun struct {
	Collective  Collective // "" when the output does not say
	NCCLVersion string     // "2.27.3"; "" when the output does not say
	Ranks       int        // 0 when the output does not say
	Hosts       []string   // distinct, in order of first rank
	GPUModel    string     // of rank 0
	Rows        []TestRow
}

// TestRow is one message size.
type TestRow struct {
	SizeBytes  uint64
	OutOfPlace *TestFigure
	InPlace    *TestFigure
}

// TestFigure is one measured time.
type TestFigure struct {
	TimeSeconds                float64
	BusBandwidthBytesPerSecond float64
}

// Better is the quicker of out-of-place and in-place, or nil.
func (r TestRow) Better() *TestFigure {
	if r.OutOfPlace == nil || r.InPlace != nil && r.InPlace.TimeSeconds < r.OutOfPlace.TimeSeconds {
		return r.InPlace
	}
	return r.OutOfPlace
}

// Limits of an nccl-tests output.
const (
	maxTestBytes = 64 << 20
	maxTestLine  = 1 << 20
	maxTestRows  = 100_000
	maxTestHosts = 1 << 20
)

// ReadTests reads what an nccl-tests program printed, or the file that its -J option wrote.
func ReadTests(r io.Reader) (*TestRun, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxTestBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxTestBytes {
		return nil, fmt.Errorf("larger than %d bytes: must be the output of one run", maxTestBytes)
	}
	if trimmed := bytes.TrimLeft(b, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
		return readTestsJSON(trimmed)
	}
	return readTestsText(b)
}

var (
	// mpirunPrefix is what mpirun --tag-output puts before each line.
	mpirunPrefix = regexp.MustCompile(`^\[\d+,\d+\]<std(out|err)>:\s?`)
	rankLine     = regexp.MustCompile(`^#\s+Rank\s+\d+\s.*\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.*)$`)
	testLine     = regexp.MustCompile(`^#\s*Collective test (?:starting|concluded):\s*(\S+)`)
	libraryLine  = regexp.MustCompile(`\bnccl-library=(\d+)|\bNCCL version (2\.\d+\.\d+)`)
)

// textReader keeps what earlier lines of the output said.
type textReader struct {
	run     *TestRun
	columns []string // of the header line
}

func readTestsText(b []byte) (*TestRun, error) {
	t := textReader{run: &TestRun{}}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(make([]byte, 0, 64<<10), maxTestLine)
	line := 0
	for in.Scan() {
		line++
		if err := t.line(mpirunPrefix.ReplaceAllString(in.Text(), "")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w; lines must be shorter than %d bytes", line+1, err, maxTestLine)
	}
	return t.run, t.run.check()
}

func (t *textReader) line(s string) error {
	if m := libraryLine.FindStringSubmatch(s); m != nil && t.run.NCCLVersion == "" {
		t.run.NCCLVersion = m[2]
		if m[1] != "" {
			t.run.NCCLVersion = versionOfCode(m[1])
		}
	}
	if strings.HasPrefix(s, "#") {
		return t.comment(s)
	}
	word := strings.Fields(s)
	if len(word) < 8 {
		return nil // progress, warnings of the launcher
	}
	size, err := strconv.ParseUint(word[0], 10, 63)
	if err != nil {
		return nil
	}
	if len(t.run.Rows) >= maxTestRows {
		return fmt.Errorf("more than %d rows: must be the output of one run", maxTestRows)
	}
	first, second := t.timeColumns(len(word))
	if first < 0 {
		return errors.New("row of figures: must have the columns size count type redop root time algbw busbw #wrong")
	}
	row := TestRow{SizeBytes: size}
	if row.OutOfPlace, err = testFigure(word, first); err != nil {
		return err
	}
	if row.InPlace, err = testFigure(word, second); err != nil {
		return err
	}
	t.run.Rows = append(t.run.Rows, row)
	return nil
}

func (t *textReader) comment(s string) error {
	if m := rankLine.FindStringSubmatch(s); m != nil {
		return t.run.addRank(m[1], m[2])
	}
	if m := testLine.FindStringSubmatch(s); m != nil {
		if c, err := ParseCollective(m[1]); err == nil {
			t.run.Collective = c
		}
		return nil
	}
	word := strings.Fields(strings.TrimLeft(s, "#"))
	if len(word) > 7 && word[0] == "size" && word[1] == "count" {
		t.columns = word
	}
	return nil
}

// timeColumns finds the out-of-place and in-place times: by the header, else by the number of columns, which is 13 since
// nccl-tests prints the root and 12 before.
func (t *textReader) timeColumns(words int) (int, int) {
	if first := slices.Index(t.columns, "time"); first >= 0 && len(t.columns) == words {
		second := slices.Index(t.columns[first+1:], "time")
		if second >= 0 {
			second += first + 1
		}
		return first, second
	}
	switch words {
	case 13:
		return 5, 9
	case 12:
		return 4, 8
	case 9: // only one kind was run
		return 5, -1
	}
	return -1, -1
}

// testFigure reads time (us), algorithm and bus bandwidth (GB/s) from column at on; nil when that kind was not run.
func testFigure(word []string, at int) (*TestFigure, error) {
	if at < 0 || at+2 >= len(word) || word[at] == "N/A" {
		return nil, nil
	}
	us, err := strconv.ParseFloat(word[at], 64)
	if err != nil || !(us >= 0 && us < 1e12) {
		return nil, fmt.Errorf("time %q: must be microseconds", word[at])
	}
	bus, err := strconv.ParseFloat(word[at+2], 64)
	if err != nil || !(bus >= 0 && bus < 1e9) {
		return nil, fmt.Errorf("busbw %q: must be GB/s", word[at+2])
	}
	return &TestFigure{us * 1e-6, bus * 1e9}, nil
}

func (r *TestRun) addRank(host, device string) error {
	if r.Ranks++; r.Ranks > maxTestHosts {
		return fmt.Errorf("more than %d ranks", maxTestHosts)
	}
	if r.Ranks == 1 {
		r.GPUModel = strings.TrimSpace(device)
	}
	// Ranks of one host follow each other; a host that comes back would only be counted twice.
	if len(r.Hosts) == 0 || r.Hosts[len(r.Hosts)-1] != host {
		r.Hosts = append(r.Hosts, host)
	}
	return nil
}

func (r *TestRun) check() error {
	if len(r.Rows) == 0 {
		return errors.New("no row of figures: must be the output of an nccl-tests program")
	}
	return nil
}

// versionOfCode turns NCCL's number (22703) into 2.27.3; "" when it is none.
func versionOfCode(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil || n < 20000 || n > 99999 {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100)
}
