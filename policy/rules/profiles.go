package rules

import (
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/diag"
)

// AgentInfo is an agent that a layer describes.
type AgentInfo struct {
	Agent string          `json:"agent"` // the id of its profile
	Layer decisions.Layer `json:"layer"`
	// Redefines is set if org describes an agent that has a profile already.
	Redefines bool    `json:"redefines"`
	At        string  `json:"at"` // file:line
	UID       *uint32 `json:"uid,omitzero"`
}

// profiles reads the agent profiles of a layer.
func (u *Unit) profiles(out *Layer, ps *diag.List) {
	files := map[string][]byte{}
	for i := range u.Files {
		f := &u.Files[i]
		switch {
		case !f.IsProfiles():
		case u.Layer == decisions.Project || u.Layer == decisions.Base:
			*ps = append(*ps, diag.Problem{
				File: f.Name, Severity: diag.SeverityWarning, Text: fmt.Sprintf("is ignored: only org and user say what agents' tools are, not the %s", u.Layer),
				Hint: "put it into ~/.config/permd/policy.d",
			})
		default:
			files[f.Name] = f.Data
		}
	}
	if len(files) == 0 || u.Profiles == nil {
		return
	}
	of, errs := u.Profiles.ParseLayer(files, u.Layer == decisions.Org)
	for _, e := range errs {
		ps.Append(diag.Problem{File: e.File, Line: e.Line, Severity: diag.SeverityError, Text: e.Text, Hint: e.Fix})
	}
	if errs != nil || len(of.List()) == 0 {
		return
	}
	out.Profiles = of
	for _, a := range of.List() {
		out.Agents = append(out.Agents, AgentInfo{Agent: a.ID, Layer: u.Layer, Redefines: a.Redefines, At: a.At})
	}
}

// Describe reads what the layer says of programs and agents, and makes it that of the unit.
func (u *Unit) Describe() (ps diag.List) {
	var out Layer
	u.Programs(&out, &ps)
	u.profiles(&out, &ps)
	u.Table, u.Profiles = out.TableOver(u.Table), out.ProfilesOver(u.Profiles)
	return ps
}

// ProfilesOver returns profiles with those of the layer, nil for none.
func (l *Layer) ProfilesOver(profiles *tools.Profiles) *tools.Profiles {
	if profiles == nil {
		return nil
	}
	return profiles.With(l.Profiles)
}
