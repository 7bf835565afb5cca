package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestWhatEarlierCallsWrite has two calls of one request: what the first one writes
// makes the second one uncertain.
func TestWhatEarlierCallsWrite(t *testing.T) {
	w := toolWorld(t)
	w.Table = effectstest.Table(t)
	w.FS = effectstest.Files()
	write := func(file string) *effects.Call {
		return agentCall("claude-code", "Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, effectstest.Cwd+"/"+file))
	}
	bash := func(text string) *effects.Call {
		return agentCall("claude-code", "Bash", fmt.Sprintf(`{"command":%q}`, text))
	}
	for _, tt := range []struct {
		name          string
		first, second *effects.Call
		unclear       string // a part of the reason, "" if the second call is certain
	}{
		{"the HEAD of a bare repository", write("docs/HEAD"), bash("cd docs && git status"), "other than the project's"},
		{"in another case", write("docs/head"), bash("cd docs && git status"), "other than the project's"},
		{"the HEAD of a folder above", write("docs/HEAD"), bash("cd docs/sub && git log"), "other than the project's"},
		{"a .git file", write("docs/.git"), bash("cd docs && git status"), "changes what git obeys"},
		{"a configuration", write("docs/.git/config"), bash("git status"), "changes what git obeys"},
		{"the project's configuration", write(".git/config"), bash("git status"), "changes what git obeys"},
		{"a hook", write(".git/hooks/pre-commit"), bash("git commit -m x"), "changes what git obeys"},
		{"attributes", write(".gitattributes"), bash("git diff"), "changes what git obeys"},
		{"attributes of a folder", write("src/.gitattributes"), bash("git diff"), "changes what git obeys"},
		{"modules", write(".gitmodules"), bash("git submodule status"), "changes what git obeys"},
		{"the person's configuration", write("../../.gitconfig"), bash("git log"), "changes what git obeys"},
		{"the person's other configuration", write("../../.config/git/config"), bash("git log"), "changes what git obeys"},
		{"git by -C", write("docs/HEAD"), bash("git -C docs status"), "other than the project's"},
		{"a copy that makes it", bash("cp a.txt docs/HEAD"), bash("cd docs && git status"), "other than the project's"},
		{"a folder with all in it", bash("cp -r a.txt docs"), bash("cd docs && git status"), "other than the project's"},
		{"a redirection", bash("echo x > docs/HEAD"), bash("cd docs && git status"), "other than the project's"},
		{"a HEAD elsewhere", write("src/HEAD"), bash("cd docs && git status"), ""},
		{"a HEAD in the project's own folder", write("HEAD"), bash("git status"), ""},
		{"an ordinary file", write("docs/config/a"), bash("cd docs && git status"), ""},
		{"another program", write("docs/HEAD"), bash("cd docs && ls"), ""},
		{"a link", bash("ln -s /etc docs/x"), bash("cat docs/x/passwd"), "earlier part"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after := w.Effects(tt.first).After
			if why := whyUnknown(w.Effects(tt.second)); why != "" {
				t.Fatalf("by itself the second call is unclear: %s", why)
			}
			tt.second.Before = after
			why := whyUnknown(w.Effects(tt.second))
			if tt.unclear == "" && why != "" || !strings.Contains(why, tt.unclear) {
				t.Errorf("got %q, want %q", why, tt.unclear)
			}
			third := *tt.second
			third.Before = w.Effects(agentCallAfter(tt.second, after)).After
			if tt.unclear != "" && !strings.Contains(whyUnknown(w.Effects(&third)), tt.unclear) {
				t.Error("a third call does not know of the first")
			}
		})
	}
}

// agentCallAfter returns a read-only call that follows another one.
func agentCallAfter(c *effects.Call, before effects.Disturbance) *effects.Call {
	look := *c
	look.Input, look.Before = []byte(`{"command":"true"}`), before
	return &look
}

func whyUnknown(r effects.Result) string {
	var all []string
	for i := range r.Effects {
		if r.Effects[i].Kind == effects.KindUnknown {
			all = append(all, r.Effects[i].Why)
		}
	}
	return strings.Join(all, "; ")
}

// TestScriptsThatAreWritten has scripts that are changed before they run: their
// hash must be unknown, or an answer for the old text would count.
func TestScriptsThatAreWritten(t *testing.T) {
	w := toolWorld(t)
	w.Table = effectstest.Table(t)
	w.FS = effectstest.Files()
	script := func(c *effects.Call) *effects.Script {
		r := w.Effects(c)
		for i := range r.Effects {
			if run := r.Effects[i].Run; run != nil && run.Script != nil {
				return run.Script
			}
		}
		t.Fatal("no script")
		return nil
	}
	bash := func(text string) *effects.Call {
		return agentCall("claude-code", "Bash", fmt.Sprintf(`{"command":%q}`, text))
	}
	if script(bash("./run.sh")).SHA256 == "" {
		t.Fatal("the script has no hash")
	}
	if script(bash("echo x > other.sh; ./run.sh")).SHA256 == "" {
		t.Error("another file took the hash")
	}
	for _, text := range []string{
		"echo x > run.sh; ./run.sh", "cp a.txt run.sh && ./run.sh", "rm run.sh; ./run.sh", "tar xf a.tar; ./run.sh", "git checkout x && ./run.sh",
		"echo x > RUN.SH; ./run.sh", "sed -i s/a/b/ run.sh; bash run.sh",
	} {
		r := w.Effects(bash(text))
		for i := range r.Effects {
			if run := r.Effects[i].Run; run != nil && run.Script != nil && run.Script.SHA256 != "" {
				t.Errorf("%s: the hash is of the old text", text)
			}
		}
	}
	later := bash("./run.sh")
	later.Before = w.Effects(agentCall("claude-code", "Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, effectstest.Cwd+"/run.sh"))).After
	if script(later).SHA256 != "" {
		t.Error("the hash is of the text before the earlier call")
	}
	if why := whyUnknown(w.Effects(later)); !strings.Contains(why, "an earlier part of the call writes") {
		t.Errorf("the script of the earlier call is known: %q", why)
	}
}
