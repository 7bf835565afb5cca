package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

// Bounds of a configuration.
const (
	maxConfig      = 1 << 20 // bytes
	maxTools       = 1024
	maxCallbacks   = 64
	maxToolName    = 128
	defaultTimeout = time.Minute
	maxTimeout     = 24 * time.Hour
)

// Config is what a gateway offers, and whom it may send results to.
type Config struct {
	toolset   strictjson.Value // as the discovery endpoint shows it, without the endpoint
	unknown   strictjson.Value // what permd is told of an operation that there is none of
	tools     map[string]*tool
	callbacks map[string]*gatehttp.Upstream // by scheme, host and port
}

// tool is an operation, which is run by a server over HTTP.
type tool struct {
	server *gatehttp.Upstream
	path   string
	header http.Header
	token  string           // in header, "" for none
	wire   strictjson.Value // its definition in a toolset
	// set is the toolset that permd is told: with this tool alone, and the address of its
	// server as the endpoint, so that rules can tell servers apart.
	set strictjson.Value
}

// configFile is the YAML of a configuration.
type configFile struct {
	Name        string     `yaml:"name"`
	Description string     `yaml:"description"`
	Callbacks   []string   `yaml:"callbacks"`
	Tools       []toolFile `yaml:"tools"`
}

type toolFile struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	InputSchema map[string]any `yaml:"inputSchema"`
	Annotations map[string]any `yaml:"annotations"`
	URL         string         `yaml:"url"`
	TokenFile   string         `yaml:"token_file"`
	Credential  string         `yaml:"credential"` // the token, as the service manager hands it over
	Timeout     time.Duration  `yaml:"timeout"`
}

// ReadConfig reads a configuration, and the tokens that it names. Who could change the
// file could have the gateway send them elsewhere, so only its user or root may.
func ReadConfig(file string) (*Config, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("reading the configuration: %s is not a regular file", file)
	case !ok || st.Uid != uint32(os.Geteuid()) && st.Uid != 0 || info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("reading the configuration: %s can be changed by others", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the configuration: %w", err)
	case len(data) > maxConfig:
		return nil, fmt.Errorf("reading the configuration: %s is longer than %d bytes", file, maxConfig)
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", file, err)
	}
	return c, nil
}

func parseConfig(data []byte) (*Config, error) {
	var f configFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	switch {
	case f.Name == "" || len(f.Name) > maxToolName:
		return nil, fmt.Errorf("name must have 1 to %d bytes", maxToolName)
	case len(f.Callbacks) == 0 || len(f.Callbacks) > maxCallbacks:
		return nil, fmt.Errorf("callbacks must name 1 to %d addresses of runtimes", maxCallbacks)
	case len(f.Tools) == 0 || len(f.Tools) > maxTools:
		return nil, fmt.Errorf("tools must hold 1 to %d tools", maxTools)
	}
	c := &Config{tools: map[string]*tool{}, callbacks: map[string]*gatehttp.Upstream{}}
	for _, address := range f.Callbacks {
		if err := c.addCallback(address); err != nil {
			return nil, err
		}
	}
	wire := make([]strictjson.Value, len(f.Tools))
	for i := range f.Tools {
		t, err := newTool(&f.Tools[i])
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		if c.tools[f.Tools[i].Name] != nil {
			return nil, fmt.Errorf("tools[%d]: there are two of this name", i)
		}
		c.tools[f.Tools[i].Name], wire[i] = t, t.wire
		if t.set, err = json.Marshal(&toolset{Name: f.Name, Endpoint: f.Tools[i].URL, Tools: []strictjson.Value{t.wire}}); err != nil {
			return nil, err
		}
	}
	var err error
	if c.unknown, err = json.Marshal(&toolset{Name: f.Name, Tools: []strictjson.Value{}}); err != nil {
		return nil, err
	}
	c.toolset, err = json.Marshal(&toolset{Name: f.Name, Description: f.Description, Tools: wire})
	return c, err
}

// toolset is a toolset of the protocol.
type toolset struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitzero"`
	Endpoint    string             `json:"endpoint,omitzero"`
	Tools       []strictjson.Value `json:"tools"`
}

// addCallback adds the origin of a runtime's callback addresses. A name must not be
// resolved to this machine and its like, whatever the answer was the last time.
func (c *Config) addCallback(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Path != "" && u.Path != "/" {
		return errors.New("a callback must be scheme, host and port of an address")
	}
	up, err := gatehttp.NewUpstream(strings.TrimSuffix(address, "/"), gatehttp.UpstreamOptions{
		Timeout: callbackTimeout, MaxAnswer: maxCallbackAnswer, Reachable: func(at netip.Addr) bool { return reachable(u.Hostname(), at) },
	})
	if err != nil {
		return fmt.Errorf("a callback: %w", err)
	}
	c.callbacks[originOf(u)] = up
	return nil
}

// reachable reports whether a connection to a callback's host may be made to an address.
func reachable(host string, at netip.Addr) bool {
	if own, err := netip.ParseAddr(host); err == nil {
		return at == own.Unmap()
	}
	if host == "localhost" {
		return at.IsLoopback()
	}
	return !paths.Special(at.String())
}

// originOf returns scheme, host and port of an address, with the scheme's port if it
// names none.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func newTool(f *toolFile) (*tool, error) {
	if f.Timeout == 0 {
		f.Timeout = defaultTimeout
	}
	switch {
	case socket.CheckName("name", f.Name) != nil || len(f.Name) > maxToolName || strings.ContainsFunc(f.Name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("name must be 1 to %d letters, digits, - or _", maxToolName)
	case f.Description == "":
		return nil, errors.New("description is missing, from which the model knows what the tool is for")
	case f.InputSchema == nil:
		return nil, errors.New("inputSchema is missing, the JSON Schema of the arguments")
	case f.Timeout < time.Second || f.Timeout > maxTimeout:
		return nil, fmt.Errorf("timeout must be 1s to %s", maxTimeout)
	}
	u, err := url.Parse(f.URL)
	if err != nil {
		return nil, errors.New("url must be an http or https address")
	}
	t := &tool{path: u.EscapedPath(), header: http.Header{"Accept": {"application/json, text/plain"}}}
	u.Path, u.RawPath = "", ""
	if t.server, err = gatehttp.NewUpstream(u.String(), gatehttp.UpstreamOptions{Timeout: f.Timeout, MaxAnswer: maxToolAnswer}); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if f.Credential != "" {
		if f.TokenFile != "" {
			return nil, errors.New("token_file and credential name the same token")
		}
		if f.TokenFile, err = gatehttp.CredentialFile(f.Credential); err != nil {
			return nil, err
		}
	}
	if f.TokenFile != "" {
		token, err := gatehttp.ReadCredential(f.TokenFile)
		if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("the credential %s cannot be sent in a header", f.TokenFile)
		}
		t.token = token
		t.header["Authorization"] = []string{"Bearer " + token}
	}
	t.wire, err = json.Marshal(struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		InputSchema map[string]any `json:"inputSchema"`
		Annotations map[string]any `json:"annotations,omitzero"`
	}{f.Name, f.Description, f.InputSchema, f.Annotations}, json.Deterministic(true))
	if err == nil {
		err = strictjson.Check(t.wire)
	}
	if err != nil || len(t.wire) > math.MaxInt32 {
		return nil, errors.New("inputSchema and annotations must be what JSON can say")
	}
	return t, nil
}
