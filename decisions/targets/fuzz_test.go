package targets

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// recipes are the runs that take what they do from a file, with the file.
var recipes = []struct{ file, command string }{
	{"Makefile", "make lint"}, {"justfile", "just lint"}, {"Rakefile", "rake lint"}, {"Taskfile.yml", "task lint"}, {"compose.yaml", "docker compose up"},
	{"package.json", "npm run lint"}, {"composer.json", "composer lint"},
}

// FuzzRecipes reads such files: what is read ends, is either bound or says why it is not,
// and says the same once more.
func FuzzRecipes(f *testing.F) {
	for _, text := range []string{
		"lint:\n\tgo vet ./...\n", "X = a\\\n b\nlint: x\n\techo $(X)\nifeq (a,b)\nelse\nendif\n", "include x\n$(eval a)\n%.o: %.c\n",
		"lint a='b':\n  echo {{a}}\n", "task :lint do\n  sh 'x'\nend\n", "version: '3'\ntasks:\n  lint: x\n", "services:\n  a:\n    image: a\n",
		`{"scripts":{"lint":"eslint src","prelint":"x"}}`,
	} {
		for i := range recipes {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, text string) {
		r := recipes[int(n)%len(recipes)]
		of := func(text string) *effects.Script {
			p := plainRun{files: map[string]string{r.file: text}, command: r.command}
			return p.of(&effects.Disturbance{}, nil)
		}
		s := of(text)
		if s == nil {
			return
		}
		if (s.SHA256 == "") == (s.Unbound == "") {
			t.Fatalf("%s of %q: %+v", r.command, text, s)
		}
		if again := of(text); again.SHA256 != s.SHA256 || again.Unbound != s.Unbound {
			t.Errorf("%s of %q: %+v, and again %+v", r.command, text, s, again)
		}
	})
}
