package programs

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noptOf asks the parser of npm, with npm's own definitions, which options take the next
// word as their value.
const noptOf = `
const npm = process.argv[1], words = JSON.parse(process.argv[2])
const nopt = require(npm + "/node_modules/nopt")
const d = require(npm + "/node_modules/@npmcli/config/lib/definitions")
const types = Object.fromEntries(Object.entries(d.definitions).map(([k, v]) => [k, v.type]))
const taken = {}
for (const w of words) {
  const left = nopt(types, d.shorthands, ["node", "npm", w, "canary"]).argv.remain
  taken[w] = !left.includes("canary")
}
console.log(JSON.stringify(taken))
`

// TestValuesOfNpm compares with npm which options take the next word as their value:
// otherwise the name of a script or package would be taken for a value, or the other way
// round. Last seen with npm 11.19.1.
func TestValuesOfNpm(t *testing.T) {
	program, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		t.Fatal(err)
	}
	npm := shipped(t).entryOf("npm")
	words := map[string]arity{}
	var add func(name string, p *Program)
	where := map[string][]string{}
	add = func(name string, p *Program) {
		for option, o := range p.Options {
			if have, ok := words[option]; ok && have != o.Arity {
				t.Errorf("%s %s: another kind of value than in another place", name, option)
			}
			words[option] = o.Arity
			where[option] = append(where[option], name)
		}
		for sub, p := range p.Subs {
			add(name+" "+sub, p)
		}
	}
	add("npm", npm)
	list, err := json.Marshal(slices.Sorted(maps.Keys(words)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", "-e", noptOf, filepath.Dir(filepath.Dir(program)), string(list)).Output()
	if err != nil {
		t.Skipf("this npm has no parser to ask: %v", err)
	}
	taken := map[string]bool{}
	if err := json.Unmarshal(out, &taken); err != nil {
		t.Fatal(err)
	}
	if len(taken) < 60 {
		t.Errorf("only %d options were compared", len(taken))
	}
	for option, takes := range taken {
		if option == "--no-browser" {
			continue // as a flag, the next word is an operand, which is stricter
		}
		if got := words[option] == ArityRequired; got != takes {
			t.Errorf("%s takes the next word: %v, and %v in the table, at %s", option, takes, got, strings.Join(where[option], ", "))
		}
	}
}
