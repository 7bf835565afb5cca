package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/socket/gatehttp"
)

// Bounds of a configuration.
const (
	maxConfig      = 256 << 10 // bytes
	maxUpstreams   = 32
	maxEach        = 64 // toolkits and credentials of an upstream
	maxName        = 1024
	defaultTimeout = time.Minute
	listTimeout    = 10 * time.Second // of a list of tools, which all callers wait for
	longestTimeout = time.Hour
	shortestSecret = 8 // bytes: a shorter one cannot be told from other text
	maxListAnswer  = 4 << 20
	maxCallAnswer  = 4 << 20
	maxCallRequest = 1 << 20
	longestPrefer  = 10 * time.Minute
)

// Config is the tool servers behind a gateway.
type Config struct {
	upstreams []*upstream
	wait      time.Duration // how long a caller may wait for a person
}

// configFile is the file as it is written.
type configFile struct {
	Wait      string         `yaml:"wait"`
	Upstreams []upstreamFile `yaml:"upstreams"`
}

type upstreamFile struct {
	Address       string            `yaml:"address"`
	Toolkits      []string          `yaml:"toolkits"`
	Timeout       string            `yaml:"timeout"`
	UserID        string            `yaml:"user_id"`
	Token         *source           `yaml:"token"`
	APIKey        *source           `yaml:"api_key"`
	JWTSecret     *source           `yaml:"jwt_secret"`
	Secrets       map[string]source `yaml:"secrets"`
	Authorization map[string]source `yaml:"authorization"`
}

// source is where a credential is: exactly one is set.
type source struct {
	File       string `yaml:"file"`       // an absolute path
	Credential string `yaml:"credential"` // of the service manager, by its name
}

// path returns the file that holds the credential.
func (s *source) path() (string, error) {
	switch {
	case (s.File == "") == (s.Credential == ""):
		return "", errors.New("a credential needs either file or credential")
	case s.Credential != "":
		return gatehttp.CredentialFile(s.Credential)
	case s.File[0] != '/':
		return "", errors.New("the file of a credential must be an absolute path")
	}
	return s.File, nil
}

// read reads the credential. Errors hold nothing of it.
func (s *source) read() (string, error) {
	file, err := s.path()
	if err != nil {
		return "", err
	}
	text, err := gatehttp.ReadCredential(file)
	if err == nil && len(text) < shortestSecret {
		err = fmt.Errorf("the credential %s is shorter than %d bytes: it could not be recognised in answers", file, shortestSecret)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// ReadConfig reads a configuration in YAML, from a file that only this user or root can
// change: it says who gets which credential. Credentials are read when they are used, but
// once here too, so that what is missing shows at the start.
func ReadConfig(file string) (*Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || st.Uid != uint32(os.Geteuid()) && st.Uid != 0 {
		return nil, fmt.Errorf("the configuration %s is no file, or others can change it", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("the configuration is longer than %d bytes", maxConfig)
	}
	return parseConfig(data)
}

func parseConfig(data []byte) (*Config, error) {
	var f configFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading the configuration: it has more than one document")
	}
	c := new(Config)
	var err error
	if c.wait, err = duration(f.Wait, defaultTimeout, longestPrefer); err != nil {
		return nil, fmt.Errorf("wait: %w", err)
	}
	if len(f.Upstreams) == 0 || len(f.Upstreams) > maxUpstreams {
		return nil, fmt.Errorf("upstreams: there must be 1 to %d", maxUpstreams)
	}
	taken := map[string]bool{}
	for i := range f.Upstreams {
		u, err := f.Upstreams[i].open(taken)
		if err != nil {
			return nil, fmt.Errorf("upstreams[%d]: %w", i, err)
		}
		c.upstreams = append(c.upstreams, u)
	}
	return c, nil
}

func duration(text string, usual, longest time.Duration) (time.Duration, error) {
	if text == "" {
		return usual, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		return 0, fmt.Errorf("must be a duration from 0s to %s, such as 30s", longest)
	}
	return d, nil
}

// upstream is a tool server with its credentials.
type upstream struct {
	*gatehttp.Upstream
	listTimeout    time.Duration // not above the timeout of calls
	toolkits       []string
	userID         string
	auth           serverAuth
	secrets, grant map[string]source // by the id that tools require
}

func (f *upstreamFile) open(taken map[string]bool) (*upstream, error) {
	timeout, err := duration(f.Timeout, defaultTimeout, longestTimeout)
	if err != nil || timeout == 0 {
		return nil, fmt.Errorf("timeout: must be a duration of at most %s, such as 30s", longestTimeout)
	}
	u := &upstream{listTimeout: min(timeout, listTimeout), toolkits: f.Toolkits, userID: f.UserID, auth: serverAuth{f.Token, f.APIKey, f.JWTSecret}, secrets: f.Secrets, grant: f.Authorization}
	if u.Upstream, err = gatehttp.NewUpstream(f.Address, gatehttp.UpstreamOptions{Timeout: timeout, MaxAnswer: max(maxListAnswer, maxCallAnswer)}); err != nil {
		return nil, err
	}
	if len(u.toolkits) == 0 || max(len(u.toolkits), len(u.secrets), len(u.grant)) > maxEach {
		return nil, fmt.Errorf("toolkits must name 1 to %d toolkits, and there may be as many credentials", maxEach)
	}
	for _, name := range u.toolkits {
		if _, _, _, ok := parseTool(name + ".x"); !ok {
			return nil, errors.New("toolkits: a name has letters, digits and _")
		}
		if taken[name] {
			return nil, fmt.Errorf("toolkits: %s is that of two upstreams", name)
		}
		taken[name] = true
	}
	if len(u.userID) > maxName {
		return nil, fmt.Errorf("user_id is longer than %d bytes", maxName)
	}
	for id := range u.secrets {
		if id == "" || len(id) > maxName {
			return nil, errors.New("secrets: an id is empty or too long")
		}
	}
	for id := range u.grant {
		if id == "" || len(id) > maxName {
			return nil, errors.New("authorization: an id is empty or too long")
		}
	}
	if err := u.auth.check(); err != nil {
		return nil, err
	}
	if _, err := u.credentials(); err != nil {
		return nil, err
	}
	return u, nil
}

// credentials are what an upstream may be given, as read now.
type credentials struct {
	header         http.Header // that authenticates the gateway at the upstream, nil for none
	own            []string    // what must not be in answers of what authenticates it
	secrets, grant map[string]string
}

// credentials reads all credentials of the upstream.
func (u *upstream) credentials() (c *credentials, err error) {
	c = &credentials{secrets: map[string]string{}, grant: map[string]string{}}
	if c.header, c.own, err = u.auth.read(time.Now()); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		name string
		from map[string]source
		to   map[string]string
	}{{"secrets", u.secrets, c.secrets}, {"authorization", u.grant, c.grant}} {
		for _, id := range slices.Sorted(maps.Keys(list.from)) {
			s := list.from[id]
			if list.to[id], err = s.read(); err != nil {
				return nil, fmt.Errorf("%s: %w", list.name, err)
			}
		}
	}
	return c, nil
}

// all returns every credential.
func (c *credentials) all() (list []string) {
	list = slices.AppendSeq(slices.Clone(c.own), maps.Values(c.secrets))
	return slices.AppendSeq(list, maps.Values(c.grant))
}
