package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/otc"
)

// maxTools bounds the tools of an upstream.
const maxTools = 1024

// tool is a tool as its upstream describes it.
type tool struct {
	id            string // with its version, in one form
	key           string // Toolkit.Tool
	version       []string
	definition    strictjson.Object
	raw           strictjson.Value
	digest        string
	grants        []string // the ids of what it requires
	secrets       []string
	upstream      *upstream
	requiresOwner bool // a user_id
}

// headers are those of a request to the upstream.
func (c *credentials) headers() http.Header {
	h := http.Header{"Accept": {"application/json"}, "Oxp-Version": {oxpVersion}}
	maps.Copy(h, c.header)
	return h
}

var errList = errors.New("its list of tools cannot be read")

// list asks an upstream for its tools, of the toolkits that are its. One that takes longer than
// its listTimeout is down; it is not blamed for the time that room is waited for.
func (u *upstream) list(ctx context.Context, held *gatehttp.Held, c *credentials) (tools []*tool, err error) {
	a, err := u.WithTimeout(u.listTimeout).Do(ctx, held, http.MethodGet, "/tools", c.headers(), nil)
	if err != nil {
		return nil, err
	}
	held.Work(func() { tools, err = u.readList(a, c) })
	return tools, err
}

func (u *upstream) readList(a *gatehttp.Answer, c *credentials) ([]*tool, error) {
	switch {
	case a.Status != http.StatusOK || !gatehttp.IsJSON(a.Header) || strictjson.Check(a.Body) != nil:
		return nil, fmt.Errorf("%w (status %d)", errList, a.Status)
	case gatehttp.Echoes(a.Body, c.all()):
		return nil, errors.New("its list of tools holds a credential")
	}
	o, err := strictjson.ParseObject(a.Body)
	if err != nil {
		return nil, errList
	}
	items, ok := o.Get("items")
	if other, both := o.Get("tools"); !ok {
		items = other
	} else if both && otc.Digest(items) != otc.Digest(other) {
		return nil, errors.New("its list has items and tools, which differ")
	}
	entries, err := strictjson.ParseArray(items)
	if err != nil || len(entries) > maxTools {
		return nil, errList
	}
	var tools []*tool
	for _, entry := range entries {
		t := readTool(entry)
		if t == nil || !slices.Contains(u.toolkits, strings.Split(t.key, ".")[0]) {
			continue
		}
		if slices.ContainsFunc(tools, func(o *tool) bool { return o.id == t.id }) {
			return nil, errors.New("it lists a tool twice")
		}
		t.upstream = u
		tools = append(tools, t)
	}
	return tools, nil
}

// readTool reads a definition, nil for what is none.
func readTool(v strictjson.Value) *tool {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss("id", "version", "input_schema", "requirements") != "" {
		return nil
	}
	id, _ := o.Get("id")
	text, _ := strictjson.ParseString(id)
	toolkit, name, version, ok := parseTool(text)
	if !ok {
		return nil
	}
	if v, has := o.Get("version"); has {
		s, _ := strictjson.ParseString(v)
		if _, _, own, ok := parseTool("A.B@" + s); !ok || version != "" && own != version {
			return nil
		} else if version == "" {
			version = own
		}
	}
	if version == "" {
		return nil
	}
	t := &tool{key: toolkit + "." + name, version: strings.Split(version, "."), definition: o, raw: v, digest: digestText(v)}
	t.id = t.key + "@" + version
	requirements, _ := o.Get("requirements")
	if strictjson.Kind(requirements) == '{' {
		t.grants, ok = ids(strictjson.Find(requirements, "authorization"))
		if !ok {
			return nil
		}
		if t.secrets, ok = ids(strictjson.Find(requirements, "secrets")); !ok {
			return nil
		}
		t.requiresOwner = string(strictjson.Find(requirements, "user_id")) == "true"
	}
	return t
}

// ids returns the ids of a list of objects.
func ids(v strictjson.Value) (list []string, ok bool) {
	if v == nil {
		return nil, true
	}
	items, err := strictjson.ParseArray(v)
	if err != nil || len(items) > maxEach {
		return nil, false
	}
	for _, item := range items {
		id, ok := strictjson.ParseString(strictjson.Find(item, "id"))
		if !ok || id == "" || len(id) > maxName {
			return nil, false
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, true
}

// shown is the definition for callers, without the requirements that the gateway meets.
func (t *tool) shown() strictjson.Value {
	requirements, _ := t.definition.Get("requirements")
	o, err := strictjson.ParseObject(requirements)
	if err != nil {
		return t.raw
	}
	needs := map[string]any{}
	for _, m := range o {
		switch m.Name {
		case "authorization":
			m.Value = without(m.Value, t.upstream.grant)
		case "secrets":
			m.Value = without(m.Value, t.upstream.secrets)
		case "user_id":
			if t.upstream.userID != "" {
				m.Value = nil
			}
		}
		if m.Value != nil {
			needs[m.Name] = m.Value
		}
	}
	all := map[string]any{}
	for _, m := range t.definition {
		all[m.Name] = m.Value
	}
	if delete(all, "requirements"); len(needs) > 0 {
		all["requirements"] = needs
	}
	return marshal(all)
}

// without returns a list without the entries whose ids are given, nil if none is left.
func without(v strictjson.Value, have map[string]source) strictjson.Value {
	items, err := strictjson.ParseArray(v)
	if err != nil {
		return v
	}
	items = slices.DeleteFunc(items, func(item strictjson.Value) bool {
		id, _ := strictjson.ParseString(strictjson.Find(item, "id"))
		_, ok := have[id]
		return ok
	})
	if len(items) == 0 {
		return nil
	}
	return marshal(items)
}

// newer reports whether a version is newer than another one.
func newer(a, b []string) bool {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return len(a[i]) > len(b[i]) // without zeros in front
		}
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}

// find returns the tool of a call, of its version or the latest one.
func find(tools []*tool, c *call) (found *tool) {
	for _, t := range tools {
		switch {
		case t.key != c.toolkit+"."+c.name:
		case c.version != "" && t.id == t.key+"@"+c.version:
			return t
		case c.version == "" && (found == nil || newer(t.version, found.version)):
			found = t
		}
	}
	return found
}

// tools answers GET /tools: of the upstreams that answer, in the order of the configuration.
// It has the list under the names of both texts of the draft.
func (g *Gateway) tools(ctx context.Context, held *gatehttp.Held) *response {
	lists := make([][]*tool, len(g.config.upstreams))
	var all sync.WaitGroup
	for i, u := range g.config.upstreams {
		all.Go(func() {
			c, err := u.credentials()
			if err == nil {
				held := g.memory.Begin("")
				defer held.Free()
				lists[i], err = u.list(ctx, held, c)
			}
			if err != nil {
				g.say("the tools of upstream " + strconv.Itoa(i) + " are left out: " + err.Error())
			}
		})
	}
	all.Wait()
	shown, size := []strictjson.Value{}, 0
	for _, list := range lists {
		for _, t := range list {
			shown = append(shown, t.shown())
			size += len(t.raw)
		}
	}
	if held.Wait(ctx, 2*size) != nil {
		return refusal(sayBusy, "")
	}
	return &response{status: http.StatusOK, body: marshal(map[string]any{"$schema": schemaURN, "items": shown, "tools": shown})}
}

// upstreamOf returns the upstream of a toolkit, nil for none.
func (c *Config) upstreamOf(toolkit string) *upstream {
	for _, u := range c.upstreams {
		if slices.Contains(u.toolkits, toolkit) {
			return u
		}
	}
	return nil
}

// meet returns the credentials of a call: those that its tool requires and the configuration
// has, and those that the caller brings. A caller brings none of the configuration's.
func (t *tool) meet(c *call, have *credentials) (grants, secrets []credential, why string) {
	merge := func(required []string, own map[string]string, brought []credential) (list []credential) {
		for _, b := range brought {
			if _, ok := own[b.id]; ok {
				why = "A credential that the gateway has must not be in the call"
			}
			list = append(list, b)
		}
		for _, id := range required {
			if value, ok := own[id]; ok {
				list = append(list, credential{id, value})
			}
		}
		return list
	}
	grants = merge(t.grants, have.grant, c.grants)
	secrets = merge(t.secrets, have.secrets, c.secrets)
	return grants, secrets, why
}
