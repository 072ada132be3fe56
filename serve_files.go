package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/railmap/railmap/placer/server"
)

// liveFiles are files that take effect when they change: certificate, key, client CA and tokens. A change that cannot be read
// is logged and the last good content stays.
type liveFiles struct {
	cfg    tlsConfig
	tokens string
	log    *slog.Logger
	seen   map[string]time.Time
	cert   atomic.Pointer[tls.Certificate]
	pool   atomic.Pointer[x509.CertPool]
	list   atomic.Pointer[[]server.Token]
}

// openFiles reads all of them once.
func openFiles(c *config, log *slog.Logger) (*liveFiles, error) {
	f := &liveFiles{cfg: c.TLS, tokens: c.Tokens, log: log, seen: map[string]time.Time{}}
	f.changed()
	return f, f.load()
}

// load reads everything anew.
func (f *liveFiles) load() error {
	var errs []error
	if f.cfg.Cert != "" {
		cert, err := tls.LoadX509KeyPair(f.cfg.Cert, f.cfg.Key)
		if err == nil {
			f.cert.Store(&cert)
		}
		errs = append(errs, err)
	}
	if f.cfg.ClientCA != "" {
		pem, err := os.ReadFile(f.cfg.ClientCA)
		pool := x509.NewCertPool()
		switch {
		case err != nil:
			errs = append(errs, err)
		case !pool.AppendCertsFromPEM(pem):
			errs = append(errs, fmt.Errorf("%s: must hold PEM certificates", f.cfg.ClientCA))
		default:
			f.pool.Store(pool)
		}
	}
	if f.tokens != "" {
		tokens, err := readTokens(f.tokens)
		if err == nil {
			f.list.Store(&tokens)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// watch loads again when a file has another time than before.
func (f *liveFiles) watch(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !f.changed() {
			continue
		}
		if err := f.load(); err != nil {
			f.log.Error("files not taken, the last good ones stay", "err", err)
			continue
		}
		f.log.Info("certificates and tokens read again")
	}
}

func (f *liveFiles) changed() bool {
	changed := false
	for _, path := range []string{f.cfg.Cert, f.cfg.Key, f.cfg.ClientCA, f.tokens} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.ModTime().Equal(f.seen[path]) {
			f.seen[path], changed = info.ModTime(), true
		}
	}
	return changed
}

// tokenList is the tokens that count now.
func (f *liveFiles) tokenList() []server.Token {
	if list := f.list.Load(); list != nil {
		return *list
	}
	return nil
}

// tlsServer is TLS 1.3 with the certificate and client CA of the moment; nil when there is no certificate.
func (f *liveFiles) tlsServer() *tls.Config {
	if f.cfg.Cert == "" {
		return nil
	}
	base := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.cert.Load(), nil },
		NextProtos: []string{"h2", "http/1.1"}}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := base.Clone()
		c.GetConfigForClient = nil
		if pool := f.pool.Load(); pool != nil {
			c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, pool
		}
		return c, nil
	}
	return base
}
