package pair

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"
)

// minToken is the least length of a token in bytes.
const minToken = 16

// handshakeTimeout bounds the exchange of proofs.
const handshakeTimeout = 5 * time.Second

// ErrToken says that the other end does not hold the token.
var ErrToken = errors.New("the other end does not hold the same token")

// ReadToken reads the token file: one line, at least 16 bytes.
func ReadToken(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	token := bytes.TrimSpace(data)
	if len(token) < minToken {
		return nil, fmt.Errorf("%s: the token must have at least %d bytes (make one with: openssl rand -hex 32)", path, minToken)
	}
	return token, nil
}

// Both ends prove that they hold the token without sending it: an HMAC over both nonces and what they claim. A listener on
// the way learns nothing that it could replay, because each end chooses a nonce.
func prove(token []byte, role string, nonces ...string) string {
	m := hmac.New(sha256.New, token)
	fmt.Fprintf(m, "railmap pairs %d %s", protocolVersion, role)
	for _, n := range nonces {
		fmt.Fprintf(m, "\n%s", n)
	}
	return hex.EncodeToString(m.Sum(nil))
}

func proven(token []byte, mac, role string, nonces ...string) bool {
	return hmac.Equal([]byte(mac), []byte(prove(token, role, nonces...))) // in constant time
}

func newNonce() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
