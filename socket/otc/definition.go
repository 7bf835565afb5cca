package otc

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// definitionWire is the part of a tool's definition that is read.
type definitionWire struct {
	ID           string           `json:"id"`
	Version      string           `json:"version"`
	InputSchema  strictjson.Value `json:"input_schema" null:"absent"`
	Requirements struct {
		Authorization []authorizationWire `json:"authorization"`
		Secrets       []secretName        `json:"secrets"`
		UserID        bool                `json:"user_id"`
	} `json:"requirements"`
}

type authorizationWire struct {
	ID     string `json:"id"`
	OAuth2 struct {
		Scopes []string `json:"scopes"`
	} `json:"oauth2"`
}

// definition is the caller's description of a tool.
type definition struct {
	schema         strictjson.Value // nil for none
	authorizations []effects.Authorization
	secrets        []string
	userID         bool
}

// readDefinition reads the definition of a tool. It is an error if that is of another
// tool or version.
func readDefinition(v strictjson.Value, of toolID) (*definition, error) {
	var w definitionWire
	if err := socket.ReadParams("tool", v, &w); err != nil {
		return nil, err
	}
	id, ok := parseToolID(w.ID)
	switch {
	case !ok:
		return nil, socket.Refuse("tool.id must be Toolkit.Tool, Toolkit.Tool@x or Toolkit.Tool@x.y.z")
	case id.toolkit != of.toolkit || id.name != of.name:
		return nil, socket.Refuse("tool is the definition of another tool than tool_id")
	}
	if w.Version != "" {
		version, ok := parseVersion(w.Version)
		if !ok || id.version != "" && version != id.version {
			return nil, socket.Refuse("tool.version must be x.y.z, and that of tool.id")
		}
		id.version = version
	}
	if id.version != "" && of.version != "" && id.version != of.version {
		return nil, socket.Refuse("tool is the definition of another version than tool_id")
	}
	d := &definition{userID: w.Requirements.UserID}
	if isPresent(w.InputSchema) {
		d.schema = w.InputSchema
	}
	if err := d.readAuthorizations(w.Requirements.Authorization); err != nil {
		return nil, err
	}
	if err := checkNames("tool.requirements.secrets", w.Requirements.Secrets); err != nil {
		return nil, err
	}
	for _, s := range w.Requirements.Secrets {
		d.secrets = append(d.secrets, s.ID)
	}
	return d, nil
}

func (d *definition) readAuthorizations(list []authorizationWire) error {
	const what = "tool.requirements.authorization"
	if len(list) > maxCredentials {
		return socket.Refuse("%s: more than %d", what, maxCredentials)
	}
	for i, r := range list {
		if r.ID == "" || len(r.ID) > socket.MaxName || len(r.OAuth2.Scopes) > maxCredentials {
			return socket.Refuse("%s[%d]: an id of 1 to %d bytes, and at most %d scopes", what, i, socket.MaxName, maxCredentials)
		}
		for _, s := range r.OAuth2.Scopes {
			if s == "" || len(s) > socket.MaxName {
				return socket.Refuse("%s[%d]: a scope must be 1 to %d bytes", what, i, socket.MaxName)
			}
		}
		d.authorizations = append(d.authorizations, effects.Authorization{ID: r.ID, Scopes: r.OAuth2.Scopes})
	}
	return nil
}

// scopes returns those that the definition requires of an authorization.
func (d *definition) scopes(id string) (list []string) {
	if d == nil {
		return nil
	}
	for _, a := range d.authorizations {
		if a.ID == id {
			list = append(list, a.Scopes...)
		}
	}
	return list
}

// missingContext is what a tool requires and a call lacks.
type missingContext struct {
	authorizations, secrets []string
	userID                  bool
}

func (m *missingContext) any() bool { return len(m.authorizations)+len(m.secrets) > 0 || m.userID }

// text describes what is missing.
func (m *missingContext) text() string {
	g := effects.Credentials{Secrets: m.secrets}
	for _, id := range m.authorizations {
		g.Authorizations = append(g.Authorizations, effects.Authorization{ID: id})
	}
	text := g.String()
	switch {
	case m.userID && text != "":
		text += ", user_id"
	case m.userID:
		text = "user_id"
	}
	return display.Display(text)
}

// missing returns what the definition requires and the call lacks: an authorization without
// a token is none, nor is a secret without a value.
func (a *callRequest) missing() (m missingContext) {
	if a.definition == nil {
		return m
	}
	c := a.call.Context
	if c == nil {
		c = new(contextWire)
	}
	for _, r := range a.definition.authorizations {
		if !slices.Contains(c.Authorization, tokenWire{r.ID, true}) && !slices.Contains(m.authorizations, r.ID) {
			m.authorizations = append(m.authorizations, r.ID)
		}
	}
	for _, id := range a.definition.secrets {
		if !slices.Contains(c.Secrets, secretWire{id, true}) && !slices.Contains(m.secrets, id) {
			m.secrets = append(m.secrets, id)
		}
	}
	m.userID = a.definition.userID && c.UserID == ""
	return m
}
