package decisions

import (
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lexpath"
)

// maxDetails bounds the texts of a record's details, in bytes. Effects beyond it have
// partial details.
const maxDetails = 64 << 10

// EffectDetail is the structured form of an effect's text, for programs that read
// records. It contains nothing that the text does not: if a part of that is masked or
// cut, only that fact. Its JSON form is stable: members may be added, but not renamed.
type EffectDetail struct {
	// Partial is set if the other members do not describe the whole effect.
	Partial bool `json:"partial,omitzero"`
	// Inherent is set if the effect takes its allow from a run or use.
	Inherent bool `json:"inherent,omitzero"`

	// Words are the program and its words in a shell's syntax.
	Words []string `json:"words,omitzero"`

	// Path is absolute.
	Path      string `json:"path,omitzero"`
	Recursive bool   `json:"recursive,omitzero"` // all below Path is meant, too

	Host   string `json:"host,omitzero"`
	Port   int    `json:"port,omitzero"` // 0 for the one that the scheme has by itself
	Method string `json:"method,omitzero"`

	Server  string `json:"server,omitzero"`
	Tool    string `json:"tool,omitzero"`
	Version string `json:"version,omitzero"`
}

// details returns the details of effects. Texts show paths in the project and the
// person's home relative to these; the details have them in full.
func details(effs []effects.Effect, project, home string) []EffectDetail {
	list := make([]EffectDetail, len(effs))
	left := maxDetails
	for i := range effs {
		d := detailOf(&effs[i], project, home)
		size := len(d.Path) + len(d.Host) + len(d.Server) + len(d.Tool) + len(d.Version)
		for _, w := range d.Words {
			size += len(w)
		}
		if size > left {
			d = EffectDetail{Partial: true, Inherent: d.Inherent}
			size = 0
		}
		left -= size
		list[i] = d
	}
	return list
}

// detailOf returns the part of an effect that its text shows.
func detailOf(e *effects.Effect, project, home string) EffectDetail {
	d := EffectDetail{Inherent: e.Inherent()}
	partial := EffectDetail{Partial: true, Inherent: d.Inherent}
	shown, ok := strings.CutPrefix(e.Text, string(e.Kind)+" ")
	if !display.Whole(e.Text) {
		return partial
	}
	switch e.Detail() {
	case effects.DetailRun:
		if !ok || e.Run.Shown == nil || !startsWithWords(shown, e.Run.Shown) {
			return partial
		}
		d.Words = e.Run.Shown
	case effects.DetailFile:
		if !ok || !showsPath(shown, e.File.Path, project, home) {
			return partial
		}
		d.Path, d.Recursive = e.File.Path, e.File.Recursive
	case effects.DetailConnect:
		c := e.Connect
		if d.Method = c.Method; c.Host == "" {
			break // an address of a configuration, which nothing is known of
		}
		rest, found := strings.CutPrefix(strings.TrimPrefix(shown, "["), c.Host)
		if !ok || !found {
			return partial
		}
		d.Host = c.Host
		if strings.HasPrefix(strings.TrimPrefix(rest, "]"), ":"+strconv.Itoa(c.Port)+" ") {
			d.Port = c.Port
		}
	case effects.DetailUse:
		u := e.Use
		name := u.Tool
		if u.Server != "" {
			name = u.Server + ":" + name
		}
		if u.Version != "" {
			name += "@" + u.Version
		}
		if !ok || !strings.HasPrefix(shown, name) {
			return partial
		}
		d.Server, d.Tool, d.Version = u.Server, u.Tool, u.Version
	case effects.NoDetail:
	}
	return d
}

// startsWithWords reports whether a text begins with the words, separated by blanks.
func startsWithWords(text string, words []string) bool {
	for i, w := range words {
		if i > 0 {
			if !strings.HasPrefix(text, " ") {
				return false
			}
			text = text[1:]
		}
		rest, ok := strings.CutPrefix(text, w)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// showsPath reports whether a text begins with a path as it is displayed: in full, or
// with . for the project and ~ for the home.
func showsPath(text, path, project, home string) bool {
	begins := func(text, with string) bool {
		rest, ok := strings.CutPrefix(text, with)
		return ok && (rest == "" || rest[0] == ' ')
	}
	if in, ok := strings.CutPrefix(text, "./"); ok && project != "" && lexpath.In(project, path) {
		return begins(in, strings.TrimPrefix(path[len(project):], "/"))
	}
	if in, ok := strings.CutPrefix(text, "~"); ok && home != "" && lexpath.In(home, path) {
		return begins(in, path[len(home):])
	}
	return begins(text, path)
}

func (e *encoder) detail(i int, d *EffectDetail) {
	e.comma(i)
	e.raw(`{`)
	start := len(e.b)
	next := func(name string) string {
		if len(e.b) > start {
			return `,` + name
		}
		return name
	}
	flag := func(name string, set bool) {
		if set {
			e.raw(next(name) + `true`)
		}
	}
	flag(`"partial":`, d.Partial)
	flag(`"inherent":`, d.Inherent)
	if d.Words != nil {
		e.list(next(`"words":`), d.Words)
	}
	e.optionalText(next(`"path":`), d.Path)
	flag(`"recursive":`, d.Recursive)
	e.optionalText(next(`"host":`), d.Host)
	if d.Port != 0 {
		e.number(next(`"port":`), int64(d.Port))
	}
	e.optionalText(next(`"method":`), d.Method)
	e.optionalText(next(`"server":`), d.Server)
	e.optionalText(next(`"tool":`), d.Tool)
	e.optionalText(next(`"version":`), d.Version)
	e.raw(`}`)
}
