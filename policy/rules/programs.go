package rules

import (
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
)

// ProgramInfo is a program that a layer describes.
type ProgramInfo struct {
	Program string          `json:"program"`
	Layer   decisions.Layer `json:"layer"`
	// Extends is set if permd, or org, already describes the program.
	Extends bool    `json:"extends"`
	At      string  `json:"at"` // file:line
	UID     *uint32 `json:"uid,omitzero"`
}

// Programs reads the program descriptions of a layer, and builds the table used
// for the layer's lists.
func (u *Unit) Programs(out *Layer, ps *diag.List) {
	files := map[string][]byte{}
	for _, f := range u.Files {
		if f.IsPrograms() {
			files[f.Name] = f.Data
		}
	}
	if len(files) == 0 || u.Table == nil {
		return
	}
	var described []programs.LayerProgram
	var errs []*programs.TableError
	switch u.Layer {
	case decisions.Org:
		if out.Table, described, errs = u.Table.Extended(files); errs == nil {
			u.Table = out.Table
		}
	case decisions.User:
		if out.Overlay, errs = u.Table.ParseOverlay(files); errs == nil {
			described = out.Overlay.List()
			u.Table = u.Table.With(out.Overlay, true)
		}
	case decisions.Project, decisions.Base:
		for _, f := range u.Files {
			if f.IsPrograms() {
				*ps = append(*ps, diag.Problem{
					File: f.Name, Severity: diag.SeverityWarning, Text: fmt.Sprintf("is ignored: only org and user say what programs do, not the %s", u.Layer),
					Hint: "put it into ~/.config/permd/policy.d/" + source.ProgramsDir,
				})
			}
		}
	}
	for _, e := range errs {
		ps.Append(diag.Problem{File: e.File, Line: e.Line, Severity: diag.SeverityError, Text: e.Text, Hint: e.Fix})
	}
	for _, d := range described {
		out.Programs = append(out.Programs, ProgramInfo{Program: d.Program, Layer: u.Layer, Extends: d.Extends, At: d.At})
	}
}

// TableOver returns a program table with the programs that the layer describes. That of
// org was made from the same table.
func (l *Layer) TableOver(table *programs.Table) *programs.Table {
	switch {
	case l.Table != nil:
		return l.Table
	case l.Overlay != nil && table != nil:
		return table.With(l.Overlay, true)
	}
	return table
}
