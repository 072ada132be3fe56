package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Role is what an identity may do. Roles do not include each other, except that an administrator may do everything.
type Role string

// Roles.
const (
	Anyone    Role = ""
	Reporter  Role = "reporter"  // send reports about its own node
	Requester Role = "requester" // read the map, place, hold leases
	Admin     Role = "admin"
)

// Identity is who calls.
type Identity struct {
	Name string
	Role Role
	Node string // the node that it may report on; "" = any (administrators, or when nobody is authenticated)
}

// Token is one bearer token as stored: only its hash.
type Token struct {
	Name      string    `json:"name" yaml:"name"`
	Role      Role      `json:"role" yaml:"role"`
	Node      string    `json:"node,omitempty" yaml:"node,omitempty"` // a reporter's node
	SHA256    string    `json:"sha256" yaml:"sha256"`
	CreatedAt time.Time `json:"createdAt" yaml:"createdAt"`
}

// NewToken makes a token: the secret is shown once, the stored form keeps its hash. A reporter is bound to a node.
func NewToken(name string, role Role, node string, now time.Time) (secret string, t Token, err error) {
	if name == "" || !slices.Contains([]Role{Reporter, Requester, Admin}, role) {
		return "", Token{}, fmt.Errorf("token needs a name and a role: reporter, requester or admin")
	}
	if role == Reporter && node == "" {
		return "", Token{}, fmt.Errorf("a reporter token is bound to one node: give its name")
	}
	var b [32]byte
	rand.Read(b[:])
	secret = "railmap_" + base64.RawURLEncoding.EncodeToString(b[:])
	return secret, Token{Name: name, Role: role, Node: node, SHA256: hashToken(secret), CreatedAt: now.UTC()}, nil
}

func hashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// ParseTokens reads a token file (YAML list of tokens).
func ParseTokens(data []byte) ([]Token, error) {
	var tokens []Token
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil, nil
	}
	if err := dec.Decode(&tokens); err != nil {
		return nil, err
	}
	for i, t := range tokens {
		if t.Name == "" || len(t.SHA256) != 64 || !slices.Contains([]Role{Reporter, Requester, Admin}, t.Role) || (t.Role == Reporter && t.Node == "") {
			return nil, fmt.Errorf("token %d (%s): must have name, role, sha256, and a node for a reporter", i, t.Name)
		}
	}
	return tokens, nil
}

// Auth decides who calls. Required false lets everyone in as administrator: for loopback only.
type Auth struct {
	Required bool
	Tokens   func() []Token // read on every request, so that a reload takes effect at once; nil = none
	// AdminNames and RequesterNames are certificate names (SAN DNS) with those roles; any other certificate is a reporter for
	// the node that its SAN names.
	AdminNames     []string
	RequesterNames []string
}

type identityKey struct{}

// identityOf is the identity that admit found.
func identityOf(r *http.Request) Identity {
	id, _ := r.Context().Value(identityKey{}).(Identity)
	return id
}

// admit identifies the caller and checks the role.
func (a Auth) admit(r *http.Request, need Role) (*http.Request, error) {
	id, err := a.identify(r)
	if need == Anyone {
		err = nil
	}
	if err != nil {
		return r, err
	}
	if need != Anyone && id.Role != need && id.Role != Admin {
		return r, problem(http.StatusForbidden, codeForbidden, fmt.Sprintf("%s has the role %s: this needs %s", id.Name, id.Role, need))
	}
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, id)), nil
}

func (a Auth) identify(r *http.Request) (Identity, error) {
	if !a.Required {
		return Identity{Name: "local", Role: Admin}, nil
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.PeerCertificates) > 0 {
		if names := r.TLS.PeerCertificates[0].DNSNames; len(names) > 0 {
			return a.certificate(names[0]), nil
		}
	}
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Identity{}, problem(http.StatusUnauthorized, codeUnauthorized, "no client certificate and no bearer token", "make a token (railmap token create) and set RAILMAP_TOKEN")
	}
	hash := []byte(hashToken(secret))
	if a.Tokens != nil {
		for _, t := range a.Tokens() {
			if subtle.ConstantTimeCompare(hash, []byte(t.SHA256)) == 1 {
				return Identity{Name: t.Name, Role: t.Role, Node: t.Node}, nil
			}
		}
	}
	return Identity{}, problem(http.StatusUnauthorized, codeUnauthorized, "the token is not known here, or was revoked")
}

func (a Auth) certificate(name string) Identity {
	switch {
	case slices.Contains(a.AdminNames, name):
		return Identity{Name: name, Role: Admin}
	case slices.Contains(a.RequesterNames, name):
		return Identity{Name: name, Role: Requester}
	}
	return Identity{Name: name, Role: Reporter, Node: name}
}
