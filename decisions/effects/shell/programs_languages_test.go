package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/runs"
)

// TestLanguages gives calls the rule that allows their program with any words. Code
// in the program's own language must not be allowed by it.
func TestLanguages(t *testing.T) {
	table := effectstest.Table(t)
	for _, tt := range []struct {
		rule          string
		allowed, asks []string
	}{
		{
			"awk",
			[]string{`awk -F: '$1 > 5 { print $2 } # done' a.txt`, `awk '{ print ($1 > 2) }' a.txt x=1`, `awk -v n=3 'NR == n' a.txt`, "awk '/^func /,/^}/ {\n  print FILENAME \": \" $0\n}' a.txt"},
			[]string{
				"awk 'BEGIN { # \"\nprint \"x\" | \"sh\" # \"\n}'", `awk '{ print > "x" }' a.txt`, `awk '/[/]/ { print "x" > "y" } #/' a.txt`, `awk 'BEGIN { print ENVIRON["KEY"] }'`, `awk '{print}' -F /etc/passwd`,
				`awk '{print}' -v f=1 a.txt`, `awk '{print}' /inet/tcp/0/localhost/80`, `awk '@include "x"' a.txt`,
			},
		},
		{
			"sed",
			[]string{`sed -n '/a/,/b/{s/x\/y/z/gp;=}' a.txt`, `sed 's/\x1b\[[0-9;]*m//g' a.txt`, `sed ':a;N;$!ba;s/\n/ /g' a.txt`, `sed '/x/a text' a.txt`, `sed 's/\[[^]]*\]//' a.txt`},
			[]string{`sed 's/a/b/w x' a.txt`, `sed -e 'a\' -e 'w x' a.txt`, `sed '1e touch x' a.txt`, "sed ':x;a\\\nw x' a.txt", "sed '#\\\nw x' a.txt", `sed 's/[[:alpha:][]/]/x/w x' a.txt`, `sed -n '$!{r /etc/passwd` + "\n}' a.txt"},
		},
		{
			"jq",
			[]string{`jq '.env | {env: .x, import}' a.json`, `jq -r '"\(.a | length) # \(.b)"' a.json`, `jq 'def f(x): x + 1; map(f(.))' a.json`},
			[]string{`jq -n env`, `jq '{a: env}' a.json`, "jq '# \\\nenv\n' a.json", `jq '"\("\(env)")"' a.json`, `jq '$ENV.KEY' a.json`, `jq 'include "x"; .' a.json`},
		},
		{
			"yq",
			[]string{`yq '.my-app.name' a.yaml`, `yq '.a | to_json' a.yaml`, `yq '.services[].image' a.yaml`},
			[]string{`yq 'strload("x")' a.yaml`, `yq '.a = load_xml("/etc/x")' a.yaml`, `yq 'env(KEY)' a.yaml`, `yq '.a *d load("x")' a.yaml`, `yq .env`},
		},
		{
			"sqlite3",
			[]string{`sqlite3 -readonly -safe app.db 'select * from t'`, `sqlite3 -safe -readonly -json app.db "with x as (select 1) select replace(a, 'b', 'c') from x"`, `sqlite3 -readonly -safe app.db .schema`, `sqlite3 -readonly -safe app.db 'pragma user_version'`},
			[]string{
				`sqlite3 app.db 'select * from v'`, `sqlite3 -readonly app.db 'select 1'`, `sqlite3 -safe app.db 'with x as (select 1) replace into t values (1)'`, `sqlite3 -safe app.db 'pragma user_version(5)'`,
				`sqlite3 -safe new.db 'select 1'`, `sqlite3 -readonly -safe log.db 'select 1'`, `sqlite3 -readonly -safe journal.db 'select 1'`, `sqlite3 -cmd 'select edit(1)' -safe -readonly app.db 'select 1'`,
				"sqlite3 -readonly -safe app.db 'select 1\n.shell id'", `sqlite3 -readonly -safe app.db '.shell id'`, `sqlite3 -readonly -safe app.db < a.sql`,
			},
		},
		{
			"git log",
			[]string{`git log --format='%h %an %C(yellow)%s%Creset %(trailers:key=A,separator=%x2C)'`, `git log --pretty=oneline`},
			[]string{`git log --format='%h % GS'`, `git log --pretty=mine`, `git log --format='%<(%G?)'`, `git log --format='%h% %G?'`},
		},
	} {
		rules := [][]string{strings.Fields(tt.rule)}
		for _, text := range tt.allowed {
			if b := shellBuilder(table, effectstest.ProgramFiles()); !passesText(b, text, rules) {
				t.Errorf("%s does not pass under %q", text, tt.rule)
				for i := range b.Effects {
					t.Log(effectstest.Compact(&b.Effects[i]))
				}
			}
		}
		for _, text := range tt.asks {
			if passesText(shellBuilder(table, effectstest.ProgramFiles()), text, rules) {
				t.Errorf("%s passes under %q", text, tt.rule)
			}
		}
	}
}

func passesText(b *runs.Builder, text string, rules [][]string) bool {
	Text(b, text, effectstest.Cwd, "command")
	return !b.Nothing && passes(b, rules)
}
