package tools

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// patch adds the effects of a patch in the format of apply_patch. Parsers of the format
// differ in white space before a heading and in text between files, so every line that
// any of them could take for a heading counts, even if it is context.
func (t *tool) patch(text, cwd, from string) {
	before := len(t.Effects)
	begun, ended, around := false, false, false
	last := "" // the path that a following move would remove
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "***")
		if !ok {
			around = around || line != "" && begun == ended && !hereWord(line)
			continue
		}
		head, arg, _ := strings.Cut(strings.TrimSpace(rest), ":")
		arg = strings.TrimSpace(arg)
		switch strings.ToLower(head) {
		case "begin patch":
			begun = true
		case "end patch":
			ended = true
		case "end of file":
		case "add file":
			t.file(effects.KindWrite, arg, cwd, from)
		case "update file":
			last = arg
			t.file(effects.KindWrite, arg, cwd, from)
		case "delete file":
			t.file(effects.KindDelete, arg, cwd, from)
		case "move to":
			t.file(effects.KindWrite, arg, cwd, from)
			if last != "" {
				t.file(effects.KindDelete, last, cwd, from)
			}
		default:
			t.Unknown(from, "a patch with a heading that is not known")
		}
		if t.counted {
			return
		}
	}
	if begun && around {
		// The text may be a command that contains the patch.
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

// hereWord matches the here-document syntax that models write around a patch, which parsers
// of the format remove.
func hereWord(line string) bool {
	switch line {
	case "<<EOF", "<<'EOF'", `<<"EOF"`, "EOF":
		return true
	}
	return false
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
