package ledger

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Address is where an etcd store is: etcd://[USER:PASSWORD@]HOST:PORT,HOST:PORT...[?prefix=/railmap&scheme=https].
type Address struct {
	config clientv3.Config
	prefix string
}

// ParseAddress reads an address. Its certificates are those that the system trusts.
func ParseAddress(store string) (Address, error) {
	var cfg clientv3.Config
	rest, ok := strings.CutPrefix(store, "etcd://")
	if !ok {
		return Address{}, fmt.Errorf("%q: must be etcd://HOST:PORT,HOST:PORT?prefix=/railmap, or empty for a file in the data folder", store)
	}
	rest, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		cfg.Username, cfg.Password, _ = strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Address{}, fmt.Errorf("what stands after ?: %w", err)
	}
	prefix, scheme := "/railmap", "http"
	for name, v := range values {
		switch name {
		case "prefix":
			prefix = v[0]
		case "scheme":
			scheme = v[0]
		default:
			return Address{}, fmt.Errorf("%q: must be prefix or scheme", name)
		}
	}
	if scheme != "http" && scheme != "https" || !strings.HasPrefix(prefix, "/") {
		return Address{}, fmt.Errorf("scheme must be http or https, prefix must begin with /")
	}
	for host := range strings.SplitSeq(strings.Trim(rest, "/"), ",") {
		if !strings.Contains(host, ":") {
			return Address{}, fmt.Errorf("%q: must be HOST:PORT", host)
		}
		cfg.Endpoints = append(cfg.Endpoints, scheme+"://"+host)
	}
	return Address{cfg, prefix}, nil
}

// Open connects. It fails when no member answers in ten seconds.
func (a Address) Open(ctx context.Context) (*EtcdStore, error) {
	cfg := a.config
	cfg.DialTimeout, cfg.DialKeepAliveTime, cfg.DialKeepAliveTimeout, cfg.Logger = 5*time.Second, 5*time.Second, 3*time.Second, zap.NewNop()
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, err
	}
	probe, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := client.Get(probe, a.prefix+"/head"); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("%s does not answer: %w", strings.Join(cfg.Endpoints, ", "), err)
	}
	return OpenEtcd(client, a.prefix), nil
}
