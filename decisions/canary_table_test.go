package decisions

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
)

// secretValues are forms of secrets that are told from any other text, whatever the program.
var secretValues = []string{
	"sk-ant-api03-CANARY", "sk-proj-CANARY", "ghp_CANARY", "glpat-CANARY", "xoxb-CANARY", "https://ana:CANARY@a.dev/x", "https://CANARYghp@a.dev/x.git", "'https://a.dev/x?access_token=CANARY&y=1'", "postgres://ana:CANARY@db/shop",
	"FOO_TOKEN=CANARY", "FOO=sk-proj-CANARY", "'Authorization: Bearer CANARY'", "'X-Api-Key: CANARY'", `'{"password":"CANARY"}'`, "password=CANARY", "a=1,client_secret=CANARY", "@ghp_CANARY", "src/ghp_CANARY/x", "./FOO_TOKEN=CANARY",
	"'a b ghp_CANARY c'", "--token=CANARY", "'--password CANARY'", "'Cookie: sid=CANARY'", "ssh://ana:CANARY@a.dev/x", "ana:CANARY@a.dev", "'*ghp_CANARY*'", "~/ghp_CANARY", "\"$X ghp_CANARY\"", "$(echo ghp_CANARY)", "/tmp/ghp_CANARY", "file:///tmp/ghp_CANARY", "{a,ghp_CANARY}",
}

// secretWords are the values of options that are secrets by the option's name.
var secretWords = []string{"CANARY", "'correct horse CANARY'", "'CANARY;x'", "'X-Api-Key: CANARY'", "\"correct CANARY horse\"", "correct\\ CANARY", "'a=CANARY b'"}

// secretOptions are names of options whose value is a secret, whatever the program.
var secretOptions = []string{
	"--password", "--token", "--client-secret", "--api-key", "--access-token", "-password", "--db-password", "--githubToken", "--auth-token", "--passphrase", "--secret", "--PASSWORD", "--registry-token", "-token", "--apikey", "--credential", "--bearer",
}

// TestTableKeepsSecrets gives each option of the program table that takes a value, and each program and
// sub-command as an operand, a secret of a form that permd knows, and searches for it in
// everything that leaves the engine.
func TestTableKeepsSecrets(t *testing.T) {
	const canary = "hunter2canaryHUNTER2CANARYhunter2can"
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	const perRound, seed = 250, 5
	rnd := rand.New(rand.NewPCG(seed, 5))
	var lines []string // with VALUE where it comes
	var add func(words string, p *programs.Program)
	add = func(words string, p *programs.Program) {
		lines = append(lines, words+" VALUE", words+" x VALUE")
		for _, name := range slices.Sorted(maps.Keys(p.Options)) {
			switch o := p.Options[name]; {
			case o.Arity == programs.ArityNone:
				continue
			case !strings.HasPrefix(name, "-"):
				lines = append(lines, words+" "+name+"=VALUE")
			case o.Arity == programs.ArityOptional && strings.HasPrefix(name, "--"), strings.HasPrefix(name, "--") && len(name)%2 == 0:
				lines = append(lines, words+" "+name+"=VALUE x")
			case o.Arity == programs.ArityTwo:
				lines = append(lines, words+" "+name+" x VALUE")
			case len(name) == 2 && len(words)%2 == 0:
				lines = append(lines, words+" "+name+"VALUE x")
			default:
				lines = append(lines, words+" "+name+" VALUE x")
			}
		}
		for _, sub := range slices.Sorted(maps.Keys(p.Subs)) {
			add(words+" "+sub, p.Subs[sub])
		}
	}
	for _, name := range table.Names() {
		add(name, table.Program(name))
	}
	for _, option := range []string{"--password", "--token", "--client-secret", "--api-key", "--access-token"} {
		for _, value := range secretWords {
			for _, program := range []string{"frob", "kubectl get", "npm run x", "git push"} {
				lines = append(lines, program+" "+option+" "+value)
				lines = append(lines, program+" "+option+"="+value+" x", program+" '"+option+"="+strings.Trim(value, "'\"")+"'")
			}
		}
	}
	// Every program, whether it has the option or not.
	var each func(words string, p *programs.Program)
	each = func(words string, p *programs.Program) {
		option, value := secretOptions[rnd.IntN(len(secretOptions))], secretWords[rnd.IntN(len(secretWords))]
		lines = append(lines, words+" "+option+" "+value, words+" "+option+" "+value+" x", words+" x "+option+"="+value)
		for _, sub := range slices.Sorted(maps.Keys(p.Subs)) {
			each(words+" "+sub, p.Subs[sub])
		}
	}
	for _, name := range table.Names() {
		each(name, table.Program(name))
	}
	lines = append(lines, "echo VALUE >> .env", "echo x > VALUE", "cat < VALUE", "VALUE", "frob <<< VALUE", "cd VALUE", "export VALUE", "env VALUE frob", "frob <<E\nVALUE\nE", "printf %s VALUE | frob", "x=VALUE frob")
	// The same lines and values each time; PERMD_TEST_CANARIES tries others besides.
	rnd.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	lines = lines[:min(len(lines), perRound*testload.Rounds(t, "PERMD_TEST_CANARIES", 3, 8))]
	p, _, j, e := newFakes(t)
	p.fired = nil
	var log bytes.Buffer
	e.log = slog.New(slog.NewJSONHandler(&log, nil))
	shown := map[string]bool{}
	for _, line := range lines {
		value := secretValues[rnd.IntN(len(secretValues))]
		text := strings.ReplaceAll(strings.ReplaceAll(line, "VALUE", value), "CANARY", canary)
		j.recs = nil
		log.Reset()
		out, err := json.Marshal(e.Decide(t.Context(), bash(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		records, err := json.Marshal(j.recs)
		if err != nil {
			t.Fatal(err)
		}
		for where, said := range map[string]string{"decision": string(out), "journal": string(records), "log": log.String()} {
			if at := strings.Index(said, canary); at >= 0 && !shown[where+value+line[:strings.IndexByte(line+" ", ' ')]] {
				shown[where+value+line[:strings.IndexByte(line+" ", ' ')]] = true
				t.Errorf("seed %d: %q: the %s has …%s…", seed, text, where, said[max(0, at-60):at+len(canary)])
			}
		}
	}
}
