package fabric

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// LocalPort is a port of this host through which a fabric is read. The zero value is the tool's own choice: the first port
// that is up.
type LocalPort struct {
	CA   string // "mlx5_0"
	Port int    // from 1; 0 = the first one
}

// String prints mlx5_0/1.
func (p LocalPort) String() string {
	switch {
	case p.CA == "" && p.Port == 0:
		return "default port"
	case p.Port == 0:
		return p.CA
	}
	return p.CA + "/" + strconv.Itoa(p.Port)
}

// LiveOptions say how to read a fabric live. The zero value runs ibnetdiscover on its default port.
type LiveOptions struct {
	Ports   []LocalPort   // one run each: several subnets or planes
	Program string        // "ibnetdiscover" when empty
	Timeout time.Duration // of one run; 10 minutes when 0 (45 s were seen for 35,000 nodes)
}

// CodePortFailed is the finding for a local port whose fabric could not be read while others could.
const CodePortFailed = "local-port-failed"

// Live runs ibnetdiscover once for each local port and joins what the runs say. It needs the right to send management packets:
// root, or access to /dev/infiniband/umad*. A run that sees no cable is an error; when other ports see a fabric it is a
// finding.
func Live(ctx context.Context, o LiveOptions) (*topology.FabricReport, error) {
	if o.Program == "" {
		o.Program = "ibnetdiscover"
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	if len(o.Ports) == 0 {
		o.Ports = []LocalPort{{}}
	}
	path, err := exec.LookPath(o.Program)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: must be in PATH (package infiniband-diags), or give a dump with --from", o.Program)
	}
	var reports []*topology.FabricReport
	var errs []error
	var lost []topology.Finding
	for _, p := range o.Ports {
		r, err := liveRun(ctx, path, o, p)
		if err != nil {
			errs = append(errs, err)
			lost = append(lost, topology.Finding{Code: CodePortFailed, Severity: topology.Error, Subject: p.String(), Message: err.Error(), Remedy: "check the port and read again; its fabric is missing"})
			continue
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return nil, errors.Join(errs...)
	}
	merged, err := Merge(reports...)
	if err == nil && len(lost) > 0 {
		merged.Findings = topology.SortFindings(append(merged.Findings, lost...))
	}
	return merged, err
}

func liveRun(ctx context.Context, path string, o LiveOptions, p LocalPort) (*topology.FabricReport, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %s", o.Timeout))
	defer cancel()
	var args []string
	if p.CA != "" {
		args = append(args, "-C", p.CA)
	}
	if p.Port != 0 {
		args = append(args, "-P", strconv.Itoa(p.Port))
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 2 * time.Second
	complaint := &tailBuffer{}
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Program, err)
	}
	stream := &endReader{r: out}
	r, parseErr := ParseIbnetdiscover(stream, o.Program)
	if !stream.ended {
		out.Close() // it may still be writing: a broken pipe ends it
	}
	err = cmd.Wait()
	if !stream.ended {
		err = nil // what we read says why
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err = cmp.Or(err, parseErr); err != nil {
		return nil, fmt.Errorf("%s (%s): %w%s", o.Program, p, err, complaint)
	}
	if len(r.Links) == 0 {
		return nil, fmt.Errorf("%s (%s): this host sees no fabric: check the cable and the subnet manager", o.Program, p)
	}
	return r, nil
}

// endReader knows whether the end was reached.
type endReader struct {
	r     io.Reader
	ended bool
}

// Read reads on.
func (e *endReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.ended = e.ended || err == io.EOF
	return n, err
}

// tailBuffer keeps the first 2 KiB of what a program complains about.
type tailBuffer struct{ b bytes.Buffer }

// Write never fails, so that the program is not stopped by its own complaints.
func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b.Write(p[:min(len(p), max(0, 2048-t.b.Len()))])
	return len(p), nil
}

// String is the complaint as one line, with a separator before it.
func (t *tailBuffer) String() string {
	s := strings.Join(strings.Fields(t.b.String()), " ")
	if s == "" {
		return ""
	}
	return ": " + s
}
