package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/source"
)

// Names in configurations and bundles.
const (
	keyID    = "release"
	resource = "org.tar.gz"
)

// keyPair signs bundles and verifies them, as PEM.
type keyPair struct{ private, public string }

func newKeyPair() (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return keyPair{asPEM("PRIVATE KEY", private), asPEM("PUBLIC KEY", public)}, err
}

// signing is what signs with the key.
func (k keyPair) signing() bundles.SigningKey {
	return bundles.SigningKey{Key: k.private, Algorithm: "ES256", ID: keyID}
}

func asPEM(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// site is what an organisation has: rules, the key that signs them, a folder that is
// served, and a certificate of the server.
type site struct {
	dir        string // of everything
	key, other keyPair
	rules      []source.File // of every bundle
	published  int           // how often
	clock      time.Time     // when the first bundle was published
}

func (s *site) www() string   { return filepath.Join(s.dir, "www") }
func (s *site) ca() string    { return filepath.Join(s.dir, "ca.crt") }
func (s *site) token() string { return filepath.Join(s.dir, "token") }

// token is what machines and the receiver share.
const token = "a token of the simulated fleet"

// repository returns the root of this source.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("finding the source of permd: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func newSite(dir, repository string, o options) (*site, error) {
	s := &site{dir: dir, clock: time.Now().Add(-time.Hour).Truncate(time.Second)}
	var err error
	if s.key, err = newKeyPair(); err != nil {
		return nil, err
	}
	if s.other, err = newKeyPair(); err != nil {
		return nil, err
	}
	var lines strings.Builder
	lines.WriteString("deny:\n  connect:\n")
	for n := range o.rules {
		fmt.Fprintf(&lines, "    - {match: host-%x.example.com, reason: machine %d is closed}\n", uint32(n*2654435761), n)
	}
	s.rules = []source.File{
		{Rel: "hosts/rules.yaml", Data: []byte(lines.String())},
		{Rel: "hosts/calls_test.yaml", Data: []byte("deny:\n  - curl https://host-0.example.com/\nask:\n  - curl https://example.com/\n")},
	}
	if o.rego {
		if err := s.addPolicies(filepath.Join(repository, "examples", "policies", "org")); err != nil {
			return nil, err
		}
	}
	return s, errors.Join(os.Mkdir(s.www(), 0o755), os.WriteFile(s.token(), []byte(token), 0o600), s.certify())
}

// addPolicies adds policies in Rego, with their tests.
func (s *site) addPolicies(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.rego"))
	if err != nil || len(names) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no policies", dir))
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.rules = append(s.rules, source.File{Rel: filepath.Base(name), Data: data})
	}
	return nil
}

// certify makes the certificates of an authority and of the server.
func (s *site) certify() error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, server, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(s.ca(), []byte(asPEM("CERTIFICATE", caDER)), 0o644),
		os.WriteFile(s.certificate(), []byte(asPEM("CERTIFICATE", der)), 0o644),
		os.WriteFile(s.certificateKey(), []byte(asPEM("PRIVATE KEY", private)), 0o600),
	)
}

func (s *site) certificate() string    { return filepath.Join(s.dir, "server.crt") }
func (s *site) certificateKey() string { return filepath.Join(s.dir, "server.key") }

// edition is what one bundle has besides the rules of all.
type edition struct {
	revision int
	rules    string // a list
	rego     string // a file, "" for none
	by       keyPair
	unsigned bool
}

// build makes a bundle as `permd policy bundle build` does, and does not look whether its rules
// are good.
func (e edition) build(s *site) ([]byte, error) {
	files := append([]source.File{{Rel: "rules.yaml", Data: []byte(e.rules)}}, s.rules...)
	if e.rego != "" {
		files = append(files, source.File{Rel: "more.rego", Data: []byte(e.rego)})
	}
	data, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: fmt.Sprint(e.revision), Files: files})
	if err != nil || e.unsigned {
		return data, err
	}
	return bundles.Sign(data, e.by.signing())
}

// publish puts a file where the server sends it from, as a whole. nginx makes an ETag of the time
// in seconds and the size, so each time is a second later than the one before.
func (s *site) publish(name string, data []byte) error {
	path := filepath.Join(s.www(), name)
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	s.published++
	at := s.clock.Add(time.Duration(s.published) * time.Second)
	return errors.Join(os.Chtimes(path+".new", at, at), os.Rename(path+".new", path))
}
