package pattern

import (
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Label says in words what a line covers, for people who choose what is remembered. It is
// "" for a line that covers one thing, and for forms that no suggestion has.
//
// Words of a run that are not spelled out are harmless operands and options alone, as for
// all lines that end in a *.
func (p *Pattern) Label() string {
	switch p.Detail() {
	case effects.DetailRun:
		if !p.Run.Rest {
			return ""
		}
		label := "any `" + (&Run{Program: p.Run.Program, Words: p.Run.Words}).String() + "` with "
		for _, word := range p.Run.Named {
			label += "`" + quoteWord(Glob{word}) + "` and "
		}
		return label + "harmless options"
	case effects.DetailFile:
		return p.fileLabel()
	case effects.DetailConnect:
		if !p.Host.Below {
			return ""
		}
		label := "connect to any host below " + p.Host.Name
		if p.Host.Port != 0 {
			label += ", port " + strconv.Itoa(p.Host.Port)
		}
		return label
	case effects.DetailUse, effects.NoDetail:
	}
	return ""
}

// fileLabel is Label for a line that ends in ** or *.
func (p *Pattern) fileLabel() string {
	n := len(p.Path.Parts) - 1
	if n < 0 {
		return ""
	}
	folder := &Path{Base: p.Path.Base, Parts: p.Path.Parts[:n]}
	for _, part := range folder.Parts {
		if len(part) != 1 {
			return ""
		}
	}
	place := "`" + strings.TrimSuffix(folder.String(), "/") + "`"
	if n == 0 {
		place = map[Base]string{Project: "the project", Home: "the home folder", Root: "`/`"}[p.Path.Base]
	}
	switch {
	case p.Path.Parts[n] == nil:
		return string(p.Kind) + " anything in " + place + " and below"
	case len(p.Path.Parts[n]) == 2 && p.Path.Parts[n][0] == "" && p.Path.Parts[n][1] == "":
		return string(p.Kind) + " files of " + place + " itself"
	}
	return ""
}
