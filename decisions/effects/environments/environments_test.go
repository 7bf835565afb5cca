package environments_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/environments"
)

const bin = effectstest.Cwd + "/.venv/bin"

// TestPrograms: which files an environment puts before the system's program, and what
// asks because others may be run.
func TestPrograms(t *testing.T) {
	for name, tt := range map[string]struct {
		files     string // in the environment, "a -> b" for a link
		activated []string
		earlier   []string // activated by earlier calls of the session
		before    []effects.Effect
		program   string
		want      []string
		asks      string // a part of the text of the only unknown effect
	}{
		"none is activated":          {files: "pytest", program: "pytest"},
		"it has the program":         {files: "pytest", activated: []string{bin}, program: "pytest", want: []string{bin + "/pytest"}},
		"it does not":                {files: "pytest", activated: []string{bin}, program: "ls"},
		"an earlier call's":          {files: "pytest", earlier: []string{bin}, program: "pytest", want: []string{bin + "/pytest"}},
		"activated twice":            {files: "pytest", activated: []string{bin, bin}, earlier: []string{bin}, program: "pytest", want: []string{bin + "/pytest"}},
		"the system's own":           {files: "python -> /usr/bin/python3", activated: []string{bin}, program: "python"},
		"a builtin of shells":        {files: "echo", activated: []string{bin}, program: "echo"},
		"a path":                     {files: "pytest", activated: []string{bin}, program: "./pytest"},
		"written by the call":        {activated: []string{bin}, before: []effects.Effect{effectstest.Change(effects.KindWrite, bin+"/ls")}, program: "ls", want: []string{bin + "/ls"}},
		"one of many":                {activated: []string{""}, program: "ls", asks: "one of many environments"},
		"a helper of other programs": {files: "git", activated: []string{bin}, program: "make", asks: "its own git"},
		"node for a script of node":  {files: "node", activated: []string{bin}, program: "eslint", asks: "its own node"},
		"node for another program":   {files: "node", activated: []string{bin}, program: "make"},
	} {
		t.Run(name, func(t *testing.T) {
			files := effectstest.Files().File("/usr/bin/python3", "")
			for name := range strings.SplitSeq(tt.files, ",") {
				if link, target, ok := strings.Cut(name, " -> "); ok {
					files.Link(path.Join(bin, link), target)
				} else if name != "" {
					files.File(path.Join(bin, name), "")
				}
			}
			c := effectstest.Collector(t, files, tt.before...)
			c.Call.Activated = tt.earlier
			var e environments.Environments
			for _, dir := range tt.activated {
				e.Activate(dir)
			}
			got := slices.Collect(e.Programs(c, tt.program, ""))
			if !slices.Equal(got, tt.want) {
				t.Errorf("have %q, want %q", got, tt.want)
			}
			asks := c.Effects[len(tt.before):]
			if tt.asks == "" && len(asks) > 0 || tt.asks != "" && (len(asks) != 1 || !strings.Contains(asks[0].Why, tt.asks)) {
				t.Errorf("have %+v, want %q", asks, tt.asks)
			}
		})
	}
}

// TestActivateIsBounded: beyond a number of environments none is known by name.
func TestActivateIsBounded(t *testing.T) {
	var e environments.Environments
	for n := range 100 {
		e.Activate(fmt.Sprint("/env", n, "/bin"))
	}
	if last := len(e.Activated) - 1; last > 10 || e.Activated[last] != "" {
		t.Errorf("have %q", e.Activated)
	}
}
