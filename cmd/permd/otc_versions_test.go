package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/otc"
)

// TestOTCVersionLines: a line of a list matches every version, or those after its
// @; a remembered one matches only the version that it names.
func TestOTCVersionLines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a table of lines, each with new rules")
	}
	t.Parallel()
	d := otcDaemon(t)
	s := newOTCServer(t)
	r := otcLaunch(t, d, s)
	verdicts := func() (list []otc.Outcome) {
		for _, tool := range []string{"Ledger.Post", "Ledger.Post@2", "Ledger.Post@2.0.0", "Ledger.Post@2.0.1", "Ledger.Post@3.0.0"} {
			body, err := json.Marshal(otcCall{ToolID: tool})
			if err != nil {
				t.Fatal(err)
			}
			var a otc.Answer
			if err := r.permd.Call(t.Context(), otc.MethodCall, strictjson.Value(body), &a); err != nil {
				t.Fatal(err)
			}
			list = append(list, a.Outcome)
		}
		return list
	}
	outcomes := func(letters string) (list []otc.Outcome) {
		for _, l := range letters {
			list = append(list, map[rune]otc.Outcome{'r': otc.Run, 'a': otc.Ask, 'd': otc.Denied}[l])
		}
		return list
	}
	want(t, "nothing said", outcomes("aaaaa"), verdicts())
	for line, wanted := range map[string]string{
		"Ledger:Post": "raaaa", "Ledger:Post@2": "arraa", "Ledger:Post@2.0.0": "arraa", "Ledger:Post@2.*": "arrra", "Ledger:*@*": "arrrr",
	} {
		out, err := d.command("remember", "add", "use", line, "--scope", "user").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want(t, "remembered "+line, outcomes(wanted), verdicts())
		// A line without a version in a list applies to all versions, and its label says
		// so.
		if out, err := d.command("remember", "export").CombinedOutput(); err != nil || strings.Contains(string(out), "every version") == strings.Contains(line, "@") {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := d.command("remember", "forget", "--all").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for line, wanted := range map[string]string{"Ledger:Post": "rrrrr", "Ledger:Post@2": "arraa", "Ledger:Post@2.*": "arrra", "Ledger:*@*": "arrrr", "Ledger:*@2.0.1": "aaara"} {
		for verdict, letter := range map[string]string{"allow": "r", "deny": "d"} {
			writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), verdict+":\n  use: ['"+line+"']\n")
			if out, err := d.command("reload").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want(t, verdict+" "+line, outcomes(strings.ReplaceAll(wanted, "r", letter)), verdicts())
		}
	}
}
