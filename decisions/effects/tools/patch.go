package tools

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/internal/strictjson"
)

// patch adds the effects of a patch in the format of apply_patch.
func (t *tool) patch(text, cwd, from string) {
	before := len(t.Effects)
	begun, around := languages.Patch(text, func(c languages.PatchChange, path string) bool {
		switch c {
		case languages.PatchWrites:
			t.file(effects.KindWrite, path, cwd, from)
		case languages.PatchDeletes:
			t.file(effects.KindDelete, path, cwd, from)
		case languages.PatchUnknown:
			t.Unknown(from, "a patch with a heading that is not known")
		}
		return !t.counted
	})
	if t.counted {
		return
	}
	if around {
		t.Unknown(from, "a patch with text around it")
	}
	// A patch without an end, as when a model was cut off, is rejected by all parsers, but
	// names the files that it would change.
	switch {
	case !begun:
		t.addMissing("the patch is in a form that is not read")
	case len(t.Effects) == before:
		t.addMissing("the patch names no file")
	}
}

// changes adds the effects of changed files: an object by path, or a list of objects with
// their path.
func (t *tool) changes(f fact, cwd string) {
	switch strictjson.Kind(f.val) {
	case '{':
		o, err := strictjson.ParseObject(f.val)
		if err != nil {
			t.malformed(f.from, "the changes cannot be read")
			return
		}
		for _, m := range o {
			if t.change(m.Name, m.Value, cwd, memberOf(f.from, m.Name)); t.counted {
				return
			}
		}
		if len(o) == 0 {
			t.addMissing("no changed file is named")
		}
	case '[':
		items, err := strictjson.ParseArray(f.val)
		if err != nil {
			t.malformed(f.from, "the changes cannot be read")
			return
		}
		for i, item := range items {
			from := itemOf(f.from, i)
			o, err := strictjson.ParseObject(item)
			if err != nil {
				t.malformed(from, "a change is no object")
				continue
			}
			v, _ := o.Get("path")
			name, ok := strictjson.ParseString(v)
			if !ok || o.NearMiss("path") != "" {
				t.malformed(from, "a change names no path")
				continue
			}
			if t.change(name, item, cwd, from+".path"); t.counted {
				return
			}
		}
		if len(items) == 0 {
			t.addMissing("no changed file is named")
		}
	default:
		t.malformed(f.from, "the changes are "+strictjson.KindName(strictjson.Kind(f.val)))
	}
}

// changeMembers records members of a change that may name other files.
func (t *tool) changeMembers(o strictjson.Object, from string) {
	for i := range o {
		switch strings.ToLower(o[i].Name) {
		case "path", "type", "kind", "move_path", "movepath", "unified_diff", "unifieddiff", "diff", "content":
			continue // FileChange and FileUpdateChange of Codex's protocol
		}
		if t.all.roleOf(o[i].Name) != roleNone && strictjson.Kind(o[i].Value) != 'n' || t.isUnlisted(nil, &o[i]) {
			t.defect(effects.DefectContradiction, memberOf(from, o[i].Name), "the change is not known to take this member")
		}
	}
}

// change adds the effects of one changed file: {type, move_path} or
// {kind: {type, move_path}}.
func (t *tool) change(path string, v strictjson.Value, cwd, from string) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		t.malformed(from, "a change is no object")
		t.file(effects.KindWrite, path, cwd, from)
		return
	}
	if o.NearMiss("type", "kind", "move_path", "movePath") != "" {
		t.defect(effects.DefectNearMiss, from, "a member's name differs from a known one only by case or hidden characters")
	}
	t.changeMembers(o, from)
	if kind, ok := o.Get("kind"); ok && strictjson.Kind(kind) == '{' {
		inner, err := strictjson.ParseObject(kind)
		if err != nil {
			t.malformed(from, "a change is no object")
			return
		}
		if inner.NearMiss("type", "move_path", "movePath") != "" {
			t.defect(effects.DefectNearMiss, from, "a member's name differs from a known one only by case or hidden characters")
		}
		t.changeMembers(inner, from)
		o = append(inner, o...)
	}
	word := ""
	for _, name := range []string{"type", "kind"} {
		if v, ok := o.Get(name); ok && word == "" {
			word, _ = strictjson.ParseString(v)
		}
	}
	switch word {
	case "delete":
		t.file(effects.KindDelete, path, cwd, from)
	case "add", "create", "update", "modify":
		t.file(effects.KindWrite, path, cwd, from)
	default:
		t.file(effects.KindWrite, path, cwd, from)
		t.Unknown(from, "what becomes of the file is not known")
	}
	for _, name := range []string{"move_path", "movePath"} {
		v, ok := o.Get(name)
		if !ok || strictjson.Kind(v) == 'n' {
			continue
		}
		target, ok := strictjson.ParseString(v)
		if !ok {
			t.malformed(from, "the target of a move is no text")
			continue
		}
		t.file(effects.KindWrite, target, cwd, memberOf(strings.TrimSuffix(from, ".path"), name))
		t.file(effects.KindDelete, path, cwd, from)
	}
}
