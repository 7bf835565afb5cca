package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
)

// activateText is the text of such a script.
const activateText = `
deactivate () {
	if [ -n "${_OLD_VIRTUAL_PATH:-}" ] ; then
		PATH="${_OLD_VIRTUAL_PATH:-}"
		export PATH
		unset _OLD_VIRTUAL_PATH
	fi
	hash -r 2> /dev/null
	if [ ! "${1:-}" = "nondestructive" ] ; then
		unset -f deactivate
	fi
}
deactivate nondestructive
VIRTUAL_ENV="DIR"
export VIRTUAL_ENV
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
PS1="(x) ${PS1:-}"
`

func venvFiles(text string) *fsfake.FS {
	fs := effectstest.Files()
	v := effectstest.Cwd + "/venv"
	fs.File(v+"/bin/activate", strings.ReplaceAll(text, "DIR", v)).File(v+"/bin/pytest", "#!x\n").Link(v+"/bin/python", "/usr/bin/python3.11")
	fs.File("/usr/bin/python3.11", "x").File(effectstest.Cwd+"/node/node", "x").File(effectstest.Cwd+"/node/deactivate", "x").File(v+"/bin/basename", "x")
	return fs
}

// venvBuilder has an agent whose shell stays alive, and one about which nothing is
// known.
func venvBuilder(t *testing.T, text string) *runs.Builder {
	t.Helper()
	b := shellBuilder(effectstest.Table(t), venvFiles(text))
	b.KeepsFolder = true
	b.Shells = plainshell.Bash | plainshell.Zsh // dash has no command source
	return b
}

func TestVenv(t *testing.T) {
	read := "read venv/bin/activate"
	for name, c := range map[string]struct {
		text      string
		activated []string // before
		want      []string
		activates []string
	}{
		"a program of it, and the one that may be meant": {"source venv/bin/activate && pytest a", nil, []string{
			read, "run pytest a h=0", "read a ^1:0", "run venv/bin/pytest a script unlisted h=1",
		}, []string{effectstest.Cwd + "/venv/bin"}},
		"other programs":               {". venv/bin/activate; git status; echo a", nil, []string{read, "run git status sub=status ro h=1", "run echo a ro h=0"}, []string{effectstest.Cwd + "/venv/bin"}},
		"the system's python":          {". venv/bin/activate; python a.py", nil, []string{read, "run python a.py script h=1", "read a.py ^1:0"}, []string{effectstest.Cwd + "/venv/bin"}},
		"inside of a wrapper":          {"source venv/bin/activate && timeout 5 pytest", nil, []string{read, "run pytest h=0", "run venv/bin/pytest script unlisted h=0"}, []string{effectstest.Cwd + "/venv/bin"}},
		"activated by an earlier call": {"pytest", []string{effectstest.Cwd + "/venv/bin"}, []string{"run pytest h=0", "run venv/bin/pytest script unlisted h=0"}, nil},
		"an earlier call activated too many": {"git status", []string{""}, []string{
			"run git status sub=status ro h=1", "unknown a program that one of many environments may put before git",
		}, nil},
		"what another program may run":       {"npm ls", []string{effectstest.Cwd + "/node"}, nil, nil},
		"what no other program runs":         {"git status", []string{effectstest.Cwd + "/node"}, []string{"run git status sub=status ro h=1"}, nil},
		"a program that the call puts there": {"source venv/bin/activate; cp x venv/bin/git; git status", nil, nil, []string{effectstest.Cwd + "/venv/bin"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := venvBuilder(t, activateText)
			b.Call.Activated = c.activated
			Text(b, c.text, effectstest.Cwd, "command")
			checkEffects(t, b)
			var got []string
			for i := range b.Effects {
				got = append(got, effectstest.Compact(&b.Effects[i]))
			}
			if c.want == nil {
				if last := got[len(got)-1]; !strings.Contains(strings.Join(got, "; "), "unknown") {
					t.Errorf("the last is %q", last)
				}
			} else if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.activates, b.Environments.Activated); diff != "" {
				t.Errorf("activated (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVenvNot has scripts that do more than activate an environment, and agents
// whose shell may or may not stay alive: the shell's state changes, and later
// commands are not known.
func TestVenvNot(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reads some hundred scripts")
	}
	more := func(line string) string { return activateText + line + "\n" }
	before := func(line string) string { return line + "\n" + activateText }
	for name, c := range map[string]struct{ text, command, agent string }{
		"an agent with a shell of which nothing is known": {activateText, "", "zed"},
		"a command":                        {more("curl -s https://x.example"), "", ""},
		"a command in deactivate":          {strings.Replace(activateText, "hash -r 2> /dev/null", "rm -rf x", 1), "", ""},
		"another PATH":                     {more(`PATH="/evil:$PATH"`), "", ""},
		"another variable":                 {more(`GIT_PAGER=x`), "", ""},
		"an exported variable":             {more(`export LD_PRELOAD=x`), "", ""},
		"a function":                       {more(`git() { true; }`), "", ""},
		"an alias":                         {more(`alias git=x`), "", ""},
		"a place for a program":            {more(`hash -p /evil git`), "", ""},
		"a substitution":                   {more(`PS1="$(curl x)"`), "", ""},
		"a prompt that runs something":     {more(`PS1='$(curl x)'`), "", ""},
		"a prompt with a back quote":       {more("PS1='`curl x`'"), "", ""},
		"a subscript":                      {more(`[ -v 'a[$(curl x)]' ]`), "", ""},
		"a comparison":                     {more(`[[ 'a[$(curl x)]' -eq 1 ]]`), "", ""},
		"arithmetic":                       {more(`: $((a[$(curl x)]))`), "", ""},
		"a file that it writes":            {more(`true > x`), "", ""},
		"a background command":             {more(`true &`), "", ""},
		"a default that is set":            {more(`: "${PATH:=x}"`), "", ""},
		"another environment":              {strings.Replace(activateText, `"DIR"`, `"/opt/x"`, 1), "", ""},
		"no environment":                   {strings.Replace(activateText, `VIRTUAL_ENV="DIR"`, "", 1), "", ""},
		"no PATH":                          {strings.Replace(activateText, `PATH="$VIRTUAL_ENV/bin:$PATH"`, "", 1), "", ""},
		"deactivate is a program":          {before("deactivate"), "", ""},
		"a pydoc that does more":           {more("pydoc () { python -m pydoc \"$@\"; curl x; }"), "", ""},
		"eval":                             {more("eval x"), "", ""},
		"a script that runs on":            {more(". ./x"), "", ""},
		"what is no script":                {"(((", "", ""},
		"a script that the call writes":    {activateText, "echo x > venv/bin/activate; source venv/bin/activate; git status", ""},
		"a script with arguments":          {activateText, "source venv/bin/activate x; git status", ""},
		"a brace in PATH":                  {strings.Replace(activateText, `$VIRTUAL_ENV/bin:`, `$VIRTUAL_ENV/{bin:`, 1), "", ""},
		"a quote in PATH":                  {strings.Replace(activateText, `$VIRTUAL_ENV/bin:`, `$VIRTUAL_ENV/'bin:`, 1), "", ""},
		"a brace in the environment":       {strings.Replace(activateText, `"DIR"`, `"DIR{"`, 1), "", ""},
		"a backslash in the environment":   {strings.Replace(activateText, `"DIR"`, `"DIR\ "`, 1), "", ""},
		"a way through a link":             {strings.Replace(activateText, `"DIR"`, `"DIR/link/../../venv"`, 1), "", ""},
		"another kept PATH":                {strings.Replace(activateText, `_OLD_VIRTUAL_PATH="$PATH"`, `_OLD_VIRTUAL_PATH="/evil:$PATH"`, 1), "", ""},
		"a kept PATH that is brought back": {before(`PATH="$_OLD_VIRTUAL_PATH"`), "", ""},
		"a condition that always holds":    {strings.Replace(activateText, `-n "${_OLD_VIRTUAL_PATH:-}"`, `-n ${_OLD_VIRTUAL_PATH:-}`, 1), "", ""},
		"a condition on something else":    {strings.Replace(activateText, `-n "${_OLD_VIRTUAL_PATH:-}"`, `-n "${PATH:-}"`, 1), "", ""},
		"no PATH at all":                   {before("unset PATH"), "", ""},
		"another home of Python":           {more(`PYTHONHOME="/evil"; export PYTHONHOME`), "", ""},
		"a kept home of Python":            {more(`_OLD_VIRTUAL_PYTHONHOME="/evil"`), "", ""},
		"a prompt in other signs":          {more(`PS1='\044(curl x)'`), "", ""},
		"another environment for Cygwin":   {more(`VIRTUAL_ENV=$(cygpath /evil)`), "", ""},
		"a program of the environment":     {more(`[ "$(basename x)" = x ]`), "", ""},
		"a name that PATH finds":           {activateText, "cd venv/bin; source activate; git status", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := venvBuilder(t, c.text)
			b.KeepsFolder = c.agent == ""
			if c.command == "" {
				c.command = "source venv/bin/activate; git status"
			}
			Text(b, c.command, effectstest.Cwd, "command")
			if b.Environments.Activated != nil {
				t.Errorf("activated %q", b.Environments.Activated)
			}
			kinds := map[effects.Kind]bool{}
			for i := range b.Effects {
				kinds[b.Effects[i].Kind] = true
			}
			if !kinds[effects.KindState] || !kinds[effects.KindUnknown] {
				t.Errorf("effects %v", kinds)
			}
		})
	}
}

// TestVenvAfterAnother: a script may run a program of an environment that was
// activated before it.
func TestVenvAfterAnother(t *testing.T) {
	for _, before := range []string{effectstest.Cwd + "/node", ""} {
		b := venvBuilder(t, activateText)
		b.Call.Activated = []string{before}
		if Text(b, "source venv/bin/activate", effectstest.Cwd, "command"); b.Environments.Activated != nil {
			t.Errorf("after %q: activated %q", before, b.Environments.Activated)
		}
	}
}

// TestVenvOfPython reads scripts that Python itself makes.
func TestVenvOfPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("missing: python3, whose script is read here")
	}
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), python, "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environment here: %v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bin/activate"))
	if err != nil {
		t.Fatal(err)
	}
	b := shellBuilder(effectstest.Table(t), effectstest.Files())
	if !activates(b, string(text), filepath.Join(dir, "bin")) {
		t.Errorf("not known as such a script:\n%s", text)
	}
}
