package collect_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

const cwd = effectstest.Cwd

func written(path string) effects.Effect { return effectstest.Change(effects.KindWrite, path) }
func deleted(path string) effects.Effect { return effectstest.Change(effects.KindDelete, path) }

// TestChanges: what an earlier effect of the call, or an earlier call, changes for the
// files that follow.
func TestChanges(t *testing.T) {
	tree := written(cwd + "/src")
	tree.File.Recursive = true
	for name, tt := range map[string]struct {
		before []effects.Effect
		file   string
		writes bool
		stale  bool
		// changed is what is found for a folder that holds the file.
		changed bool
	}{
		"nothing":                   {nil, cwd + "/a.txt", false, false, false},
		"a read":                    {[]effects.Effect{effectstest.Change(effects.KindRead, cwd+"/a.txt")}, cwd + "/a.txt", false, false, false},
		"a write":                   {[]effects.Effect{written(cwd + "/a.txt")}, cwd + "/a.txt", true, true, true},
		"a delete":                  {[]effects.Effect{deleted(cwd + "/a.txt")}, cwd + "/a.txt", false, true, true},
		"a write of a neighbour":    {[]effects.Effect{written(cwd + "/a.txt.bak")}, cwd + "/a.txt", false, false, true},
		"another case of letters":   {[]effects.Effect{written(cwd + "/A.TXT")}, cwd + "/a.txt", true, true, true},
		"all below a folder":        {[]effects.Effect{tree}, cwd + "/src/main.go", true, true, true},
		"a folder with a like name": {[]effects.Effect{tree}, cwd + "/src2/main.go", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := effectstest.Collector(t, effectstest.Files(), tt.before...)
			if got := c.Writes(tt.file); got != tt.writes {
				t.Errorf("Writes = %v", got)
			}
			if got := c.Stale(tt.file); got != tt.stale {
				t.Errorf("Stale = %v", got)
			}
			folder := tt.file[:strings.LastIndexByte(tt.file, '/')]
			if got := c.Rewritten(folder); got != tt.changed {
				t.Errorf("Rewritten(%s) = %v", folder, got)
			}
			// What this call does is what the next one finds done.
			next := effectstest.Collector(t, effectstest.Files())
			next.Call.Before = c.After()
			if got := next.Stale(tt.file); got != tt.stale {
				t.Errorf("Stale = %v in the call that follows", got)
			}
		})
	}
}

// TestChangesBefore: a run does not obey what it writes itself.
func TestChangesBefore(t *testing.T) {
	c := effectstest.Collector(t, effectstest.Files(), written(cwd+"/early"), deleted(cwd+"/gone"))
	run := c.Add(effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: "make"}})
	c.Add(written(cwd + "/late"))
	for file, want := range map[string]struct{ changed, deleted, made bool }{
		cwd + "/early": {true, false, true},
		cwd + "/gone":  {true, true, true},
		cwd + "/late":  {},
		cwd:            {made: true}, // files in it are written
	} {
		if got := c.ChangedBefore(run, file); got != want.changed {
			t.Errorf("ChangedBefore(%s) = %v", file, got)
		}
		if got := c.DeletedBefore(run, file); got != want.deleted {
			t.Errorf("DeletedBefore(%s) = %v", file, got)
		}
		if got := c.MadeBefore(run, file); got != want.made {
			t.Errorf("MadeBefore(%s) = %v", file, got)
		}
	}
	if c.UnchangedBefore(run) || !c.UnchangedBefore(0) {
		t.Error("the writes before the run are not seen, or are seen too early")
	}
}

// TestGitChanges: what git obeys, what makes a repository, and what it ignores.
func TestGitChanges(t *testing.T) {
	for file, want := range map[string]struct{ git, repository, ignores bool }{
		cwd + "/a.txt":                {},
		cwd + "/.gitattributes":       {git: true},
		cwd + "/.git/hooks/x":         {git: true, repository: true},
		cwd + "/HEAD":                 {repository: true},
		cwd + "/.gitignore":           {ignores: true},
		cwd + "/sub/.ignore":          {ignores: true},
		"/home/ana/.gitconfig":        {git: true, ignores: true},
		"/home/ana/.config/git/hooks": {git: true},
	} {
		c := effectstest.Collector(t, effectstest.Files(), written(file))
		if got := c.ChangesGit(); got != want.git {
			t.Errorf("%s: ChangesGit = %v", file, got)
		}
		if got := c.MakesRepository(cwd); got != want.repository {
			t.Errorf("%s: MakesRepository = %v", file, got)
		}
		if got := c.ChangesIgnores(); got != want.ignores {
			t.Errorf("%s: ChangesIgnores = %v", file, got)
		}
	}
}

// TestRearranged: after git checkout a path may lead elsewhere, so its effect is unknown.
func TestRearranged(t *testing.T) {
	c := effectstest.Collector(t, effectstest.Files())
	c.Rearranged = []string{cwd + "/src"}
	for file, unknown := range map[string]bool{cwd + "/src/main.go": true, cwd + "/a.txt": false, "/etc/passwd": false} {
		e := c.Operand(effects.KindRead, file, "", "")
		if (e.Kind == effects.KindUnknown) != unknown || (e.File == nil) != unknown {
			t.Errorf("%s: %+v", file, e)
		}
	}
	c.Rearranged = append(c.Rearranged, "") // any folder
	if e := c.Operand(effects.KindRead, "/etc/passwd", "", ""); e.Kind != effects.KindUnknown {
		t.Errorf("after a change of an unknown folder: %+v", e)
	}
}

// TestScript: a script's hash is taken only of the text that will run.
func TestScript(t *testing.T) {
	file := cwd + "/run.sh"
	for name, tt := range map[string]struct {
		before []effects.Effect
		hashed bool
		asks   string
	}{
		"as it is": {nil, true, ""},
		"written":  {[]effects.Effect{written(file)}, false, "a script that an earlier part of the call writes"},
		"fetched": {[]effects.Effect{
			{Kind: effects.KindRun, Run: &effects.Run{Program: "curl"}},
			{Kind: effects.KindWrite, File: &effects.File{Path: file}, Via: &effects.Via{Effect: 0}},
		}, false, "a script that an earlier part of the call fetches"},
		"deleted": {[]effects.Effect{deleted(file)}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := effectstest.Collector(t, effectstest.Files().File(file, "echo hello\n"), tt.before...)
			s := c.Script(file, "")
			if s.Path != file || (s.SHA256 != "") != tt.hashed {
				t.Errorf("have %+v", s)
			}
			asks := ""
			if last := len(c.Effects) - 1; last >= len(tt.before) {
				asks = c.Effects[last].Why
			}
			if asks != tt.asks {
				t.Errorf("asks %q, want %q", asks, tt.asks)
			}
		})
	}
}

// TestDropDuplicates: of a text that was read twice each effect is kept once, and what
// was only found the second time refers to the effects that were kept.
func TestDropDuplicates(t *testing.T) {
	run := func(name string) effects.Effect {
		return effects.Effect{Kind: effects.KindRun, Text: "run " + name, Run: &effects.Run{Program: name}}
	}
	c := effectstest.Collector(t, effectstest.Files(), run("sh"), run("ls"))
	again := c.Add(run("ls"))
	late := written(cwd + "/new")
	late.Via = &effects.Via{Effect: again}
	c.Add(late)
	c.DropDuplicates(0, again)
	if len(c.Effects) != 3 || c.Effects[2].Kind != effects.KindWrite || c.Effects[2].Via.Effect != 1 {
		t.Errorf("have %+v", c.Effects)
	}
}

// TestSetAside: what is kept aside is kept once, not for another machine, and has a bound.
func TestSetAside(t *testing.T) {
	c := effectstest.Collector(t, effectstest.Files())
	c.SetAside(0, 1, written(cwd+"/a.txt"))
	c.SetAside(0, 2, written(cwd+"/a.txt"))
	c.SetAside(0, 1, effects.Effect{Kind: effects.KindUnknown})
	c.Remote = true
	c.SetAside(0, 1, written(cwd+"/b.txt"))
	c.Remote = false
	if len(c.Asides) != 1 || c.Asides[0].Via.Arg != 1 || !c.Asides[0].Hint {
		t.Errorf("have %+v", c.Asides)
	}
	for n := 0; !c.TooManyAsides; n++ {
		if n > 1<<12 {
			t.Fatal("there is no bound")
		}
		c.SetAside(0, 1, written(cwd+"/"+strings.Repeat("x", n+1)))
	}
}

// TestProgramName: only the system's folders give a path the name of a known program.
func TestProgramName(t *testing.T) {
	c := effectstest.Collector(t, effectstest.Files())
	for given, want := range map[string]string{
		"git": "git", "/usr/bin/git": "git", "/usr/bin//git": "git", "./git": "", cwd + "/git": "", "/usr/bin/../../tmp/git": "",
	} {
		if got := c.ProgramName(given); got != want {
			t.Errorf("ProgramName(%q) = %q, want %q", given, got, want)
		}
	}
}
