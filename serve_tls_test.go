package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", "test authority", nil)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// sign writes NAME.pem and NAME.key: the authority itself when the host is nil.
func (a *authority) sign(name, common string, hosts []string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.n++
	c := &x509.Certificate{SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: common}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, signer := a.cert, a.key
	if hosts == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return parsed, key
}

// TestClientCertificates: the name in a certificate is the node that it may report on, or has a role; TLS 1.2 and plain HTTP
// are refused; a new certificate of the server is taken without a restart and without a failed request.
func TestClientCertificates(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", "server", []string{"localhost"})
	a.sign("node", "node", []string{"node0001"})
	a.sign("operator", "operator", []string{"operator"})
	config := a.path("config.yaml")
	if err := os.WriteFile(config, []byte("tls: {admins: [operator]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, "--config", config, "--topology", synthFile(t, smallCluster), "--data", t.TempDir(), "--tls-cert", a.path("server.pem"), "--tls-key", a.path("server.key"), "--client-ca", a.path("ca.pem"))
	url := strings.Replace(p.url, "127.0.0.1", "localhost", 1)
	t.Setenv("RAILMAP_CA", a.path("ca.pem"))
	as := func(name string) {
		t.Setenv("RAILMAP_CERT", a.path(name+".pem"))
		t.Setenv("RAILMAP_KEY", a.path(name+".key"))
	}
	report := func(node string) string {
		path := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(path, []byte(`{"apiVersion":"railmap.dev/v1","kind":"NodeReport","node":"`+node+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	try := func(want exitCode, args ...string) {
		t.Helper()
		if out, errs, code := cli(t, append(args, "--server", url)...); code != want {
			t.Errorf("%v: exit %d, want %d\n%s%s", args, code, want, out, errs)
		}
	}
	try(exitDenied, "lease", "list")
	as("node")
	try(exitOK, "submit", report("node0001"))
	try(exitDenied, "submit", report("node0002"))
	try(exitDenied, "place", "-N", "1")
	as("operator")
	try(exitOK, "place", "-N", "1")
	serial := func() string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true}) // only to look at it
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	old := serial()
	a.sign("server", "server", []string{"localhost"})
	for deadline := time.Now().Add(20 * time.Second); serial() == old; time.Sleep(20 * time.Millisecond) {
		try(exitOK, "place", "-N", "1")
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not taken")
		}
	}
	if _, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("TLS 1.2 is accepted")
	}
	if resp, err := http.Get(strings.Replace(url, "https", "http", 1)); err == nil {
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Error("plain HTTP is accepted")
		}
	}
}

// TestTokens: made by the command, taken by a running server, gone when revoked.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	secret, errs, code := cli(t, "token", "create", "--tokens", file, "--name", "slurm", "--role", "requester")
	if code != exitOK {
		t.Fatal(errs)
	}
	stored, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(stored), strings.TrimSpace(secret)) {
		t.Fatalf("the file holds the secret, or: %v", err)
	}
	p := startServe(t, "--topology", synthFile(t, smallCluster), "--data", t.TempDir(), "--tokens", file)
	t.Setenv("RAILMAP_TOKEN", strings.TrimSpace(secret))
	if _, errs, code := cli(t, "place", "-N", "1", "--server", p.url); code != exitOK {
		t.Errorf("with the token: exit %d %s", code, errs)
	}
	if out, _, _ := cli(t, "token", "list", "--tokens", file, "--no-headers"); !strings.Contains(out, "slurm") {
		t.Errorf("list: %s", out)
	}
	if _, errs, code := cli(t, "token", "revoke", "slurm", "--tokens", file); code != exitOK {
		t.Fatal(errs)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, _, code := cli(t, "place", "-N", "1", "--server", p.url); code == exitDenied {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a revoked token still opens")
		}
	}
}
