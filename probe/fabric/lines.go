package fabric

import (
	"bytes"
	"fmt"
	"io"
)

// Limits of one text input. The longest line that a tool of infiniband-diags prints is below 1 KiB.
const (
	maxLineBytes  = 64 << 10
	maxInputBytes = 4 << 30
	readBytes     = 128 << 10
)

// lines cuts a stream into lines without copying them. A line is valid until the next call.
type lines struct {
	r     io.Reader
	name  string // for messages
	buf   []byte
	start int // first byte not handed out
	end   int // end of what was read
	total int64
	no    int  // number of the line handed out last, from 1
	ended bool // the reader has no more
	open  bool // the line handed out last had no line end: the input stops there
	head  []byte
}

func newLines(r io.Reader, name string) *lines {
	return &lines{r: r, name: name, buf: make([]byte, readBytes)}
}

// next gives one line without its end ("\n" or "\r\n"); ok is false at the end of the input.
func (l *lines) next() (line []byte, ok bool, err error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			return l.give(line)
		}
		scanned = l.end - l.start
		if scanned > maxLineBytes {
			return nil, false, l.tooLong()
		}
		if l.ended {
			if scanned == 0 {
				return nil, false, nil
			}
			line, l.open = l.buf[l.start:l.end], true
			l.start = l.end
			return l.give(line)
		}
		if err := l.fill(); err != nil {
			return nil, false, err
		}
	}
}

func (l *lines) give(line []byte) ([]byte, bool, error) {
	l.no++
	if len(line) > maxLineBytes {
		l.no--
		return nil, false, l.tooLong()
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if l.no == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, true, nil
}

// fill moves the open line to the front and reads more behind it.
func (l *lines) fill() error {
	l.end = copy(l.buf, l.buf[l.start:l.end])
	l.start = 0
	n, err := l.r.Read(l.buf[l.end:])
	if l.head == nil && n > 0 {
		l.head = bytes.Clone(l.buf[:min(n, 1<<10)])
	}
	l.end += n
	l.total += int64(n)
	if l.total > maxInputBytes {
		return fmt.Errorf("%s: input is larger than %d bytes", l.name, int64(maxInputBytes))
	}
	if err == io.EOF {
		l.ended = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w", l.name, l.no+1, err)
	}
	return nil
}

func (l *lines) tooLong() error {
	return l.errorf(l.no+1, "line is longer than %d bytes: must be text of ibnetdiscover or iblinkinfo", maxLineBytes)
}

func (l *lines) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.name, line, fmt.Sprintf(format, args...))
}
