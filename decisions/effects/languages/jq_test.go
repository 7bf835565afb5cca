package languages

import "testing"

var plainJQPrograms = []string{
	".", ".a.b[0] | {x: .y}", "[.[] | select(.n > 2)] | length", ".env.name", ".environment", "map(.input)", "to_entries", `.a | test("x")`,
	"sort_by([.in_reply_to_id // .id, .created_at]) | group_by(.in_reply_to_id // .id)", "empty", "debug", `[.[] | select(.name != "Claude Code")]`,
	`{id: .id, user: .user.login}`, `{session_id, files: .files | length, env: .env, import: 1}`, `. | "\(.session_id) n=\(.n + 1)"`, `.data.nodes[] | select(.done == false) | "A: \(.id)\n  B: \(.c.nodes[0].path):\(.x)"`,
	`select(.type=="a") | .payload | {id,git: (.git // "none"), t: (.x|type)}`, `{title, body: .body[:500], c: [.commits[].head]}`, "def f(x): x + 1; map(f(.))", "def f($a; b): $a + b; f(1; 2)",
	"reduce .[] as $x (0; . + $x)", `if .a then "b" elif .c then "d" else empty end`, ".[] as [$a, {b: $c}] | $a", "# a comment\n.", `@base64d`, `.a |= . + 1`, `.a? // "x"`, `to_entries[] | "\(.key)=\(.value)"`,
	`.. | .name? // empty`, `{(.k): .v, "a": 1, @text "x": 2, $x}`, `[limit(3; .[])]`, `.["a b"]."c"`, `$__loc__`, `label $out | foreach .[] as $i (0; .+1; if . > 3 then ., break $out else . end)`,
	`-1`, `.a - 1`, `try error("x") catch .`, `{a: (if .b then 1, 2 else 3 end), c}`, `."env"`, `{"env": 1}`, `walk(if type == "object" then del(.x) else . end)`,
}

var harmfulJQPrograms = []string{
	"env", "$ENV", "$ENV.HOME", ".x | env", `import "a" as a; .`, `include "a"; .`, "..env", `"\(env.HOME)"`, "[env]", `load("/etc/passwd")`,
	"strenv(HOME)", "envsubst", `system("id")`, `eval("en" + "v")`, "load_str(\"x\")", ". as $x|env|.HOME", `{a: env}`, `{a: 1, b: (env)}`, `{(env): 1}`, `{$ENV}`, `. env`, ". \n env",
	`{a: 1} | {a: if .a then 1, env else 2 end}`, "# \\\nenv\n", `"\("\(env)")"`, `modulemeta`, `get_search_list`, `a::b`, `$a::b`, `$__prog_args`, `"a`, `[1`, `1]`, `"\(1]"`, `["\(1])"`, `"\q"`,
	`{a: 1, env | x}`, `{env .x}`, `@unknown`, `undefined`, `f(1)`, `{a: def f: 1, env; f}`, `getpath(["env"]) | input_env`, "`x`", `'x'`, ".a\r", `{a: 1; env}`, `def env: 1; env`,
}

func TestJQ(t *testing.T) {
	for _, program := range plainJQPrograms {
		if !JQ(program) {
			t.Errorf("%q is not plain", program)
		}
	}
	for _, program := range harmfulJQPrograms {
		if JQ(program) {
			t.Errorf("%q is plain", program)
		}
		if YQ(program) {
			t.Errorf("for yq, %q is plain", program)
		}
	}
}

func TestYQ(t *testing.T) {
	for _, program := range []string{
		".", ".a.b[0]", ".my-app.spec-name", `.a = "x"`, `.[] | select(.name == "b") | .c`, "... comments=\"\"", "sort_keys(..)", ".a | to_json", `.a style="double"`, "keys", "length", ".[] | key",
		`with(.a; .b = 1)`, ". as $item ireduce ({}; . * $item)", `select(di == 0)`, `.env-name`, `"a \(.b) c"`, `to_entries | .[] | .key + "=" + .value`, "explode(.)", `.services[].image`, `.["a-b"]`,
	} {
		if !YQ(program) {
			t.Errorf("%q is not plain", program)
		}
	}
	for _, program := range []string{
		`load("x")`, `.a = load("x")`, `.a *d load("x")`, `.a *load("x")`, `strload("x")`, `load_xml("x")`, `load_props("x")`, `load_base64("x")`, `env(HOME)`, `strenv(HOME)`, `.a = (.b | envsubst)`, `envsubst(nu)`,
		`eval(.x)`, `system("id")`, `.a-env`, `.a#b`, `.a"b"`, "# x\n.", `"\("x")"`, `"\(load("x"))"`, `.a | @sh "x" | system`, `$ENV`, `{env: 1}`, `{load, a}`, `.a-b!c`, `'load'`, `!load("x")`, "def f: 1; f", `.a -load("x")`,
	} {
		if YQ(program) {
			t.Errorf("%q is plain", program)
		}
	}
}
