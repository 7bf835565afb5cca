package decisions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// TestDetails: a record has members for the details of each effect.
func TestDetails(t *testing.T) {
	_, _, j, e := newFakes(t)
	for command, want := range map[string][]EffectDetail{
		"git status":                      {{Words: []string{"git", "status"}}},
		"ls *.go 'a b'":                   {{Words: []string{"ls", "*.go", "'a b'"}}, {Path: "/p", Recursive: true}, {Path: "/p/a b"}},
		"cat x > ~/y":                     {{Path: "/home/canary/y"}, {Words: []string{"cat", "x"}}, {Path: "/p/x"}},
		"cat . /etc/hosts":                {{Words: []string{"cat", ".", "/etc/hosts"}}, {Path: "/p"}, {Path: "/etc/hosts"}},
		"curl https://a.dev:8443/x":       {{Words: []string{"curl", "https://a.dev:8443/x"}}, {Host: "a.dev", Port: 8443, Method: "get"}},
		"curl https://a.dev":              {{Words: []string{"curl", "https://a.dev"}}, {Host: "a.dev", Method: "get"}},
		"git push":                        {{Words: []string{"git", "push"}}, {Inherent: true, Method: "send"}},
		"frob --token hunter2canary":      {{Partial: true}},
		"echo " + longWord + "; rm -rf x": {{Partial: true}, {Words: []string{"rm", "-rf", "x"}}, {Path: "/p/x", Recursive: true}},
	} {
		req := bash(t, command)
		j.recs = nil
		e.Decide(t.Context(), req)
		var got []EffectDetail
		for i, d := range j.recs[0].Details {
			if k := j.recs[0].Decision.Effects[i].Kind; k == effects.KindUnknown || k == effects.KindState {
				continue
			}
			if d.Path != "" {
				d.Path = strings.Replace(d.Path, req.Call.Cwd, "/p", 1)
			}
			got = append(got, d)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

var longWord = strings.Repeat("x", 2000)

// TestDetailsSayNoMore checks that details do not reveal what the effect's text
// masks: secrets in words, paths and names of tools.
func TestDetailsSayNoMore(t *testing.T) {
	const canary = "hunter2canary"
	token := "ghp_" + strings.Repeat("A1b2", 9)
	words := []string{
		"-u a:" + canary, "--password " + canary, "-p" + canary, "PASS=" + canary, "https://a:" + canary + "@h.dev/x", "/tmp/" + token,
		"~/" + token + "/x", "./" + token, "'{\"password\":\"" + canary + "\"}'", "-H 'Authorization: Bearer " + canary + "'", "h.dev?token=" + canary, "\"$(cat " + token + ")\"",
	}
	programs := []string{"curl", "mysql", "cat", "frob", "git config set token", "rm -r", "docker run -e", "ssh", "tee", "sudo curl", "bash -c"}
	_, _, j, e := newFakes(t)
	dir, whole, partial := repository(t), 0, 0
	for _, p := range programs {
		for _, w := range append(words, "plain", "a/b") {
			req := bashIn(dir, p+" "+w)
			j.recs = nil
			e.Decide(t.Context(), req)
			rec := j.recs[0]
			if len(rec.Details) != len(rec.Decision.Effects) {
				t.Fatalf("%s %s: %d details of %d effects", p, w, len(rec.Details), len(rec.Decision.Effects))
			}
			for i, d := range rec.Details {
				text := rec.Decision.Effects[i].Text
				out, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{canary, token} {
					if strings.Contains(string(out), secret) && !strings.Contains(text, secret) {
						t.Errorf("%s %s: %s is more than %q", p, w, out, text)
					}
				}
				if strings.Contains(text, "***") && !d.Partial {
					t.Errorf("%s %s: %q is masked, and its detail is not partial: %s", p, w, text, out)
				}
				if d.Partial {
					partial++
				} else {
					whole++
				}
				for _, part := range append(d.Words, d.Host, d.Server, d.Tool, d.Version) {
					if !strings.Contains(text, part) {
						t.Errorf("%s %s: %q is not in %q", p, w, part, text)
					}
				}
			}
		}
	}
	if whole < 100 || partial < 50 {
		t.Errorf("%d whole details and %d partial ones", whole, partial)
	}
}

// TestDetailsBounded: only details beyond the bound are partial.
func TestDetailsBounded(t *testing.T) {
	const size = 512
	var list []effects.Effect
	for i := range maxDetails/size + 2 {
		p := fmt.Sprintf("/%0*d", size-1, i)
		list = append(list, effects.Effect{Kind: effects.KindRead, Text: "read " + p, File: &effects.File{Path: p}})
	}
	got := details(list, "", "")
	for i, d := range got {
		if want := i >= maxDetails/size; d.Partial != want || (d.Path == "") != want {
			t.Errorf("detail %d of %d: %+v", i, len(got), d)
		}
	}
}

// TestDetailOfWrongText: if the text is about something else, there is no detail.
func TestDetailOfWrongText(t *testing.T) {
	run := func(text string, words ...string) effects.Effect {
		return effects.Effect{Kind: effects.KindRun, Text: text, Run: &effects.Run{Shown: words}}
	}
	file := func(text, path string) effects.Effect {
		return effects.Effect{Kind: effects.KindRead, Text: text, File: &effects.File{Path: path}}
	}
	host := func(text string, c effects.Connect) effects.Effect {
		return effects.Effect{Kind: effects.KindConnect, Text: text, Connect: &c}
	}
	use := func(text string, u effects.Use) effects.Effect {
		return effects.Effect{Kind: effects.KindUse, Text: text, Use: &u}
	}
	for name, e := range map[string]effects.Effect{
		"other words": run("run git status", "git", "push"), "no words": {Kind: effects.KindRun, Text: "run a", Run: &effects.Run{}},
		"another path": file("read /a", "/b"), "a longer path": file("read /a", "/a/b"), "a path that it begins": file("read /ab", "/a"),
		"another home": file("read ~/x", "/home/other/x"), "another project": file("read ./x", "/q/x"),
		"another host": host("connect a.dev (get)", effects.Connect{Host: "b.dev"}),
		"another tool": use("use s:t", effects.Use{Server: "s", Tool: "u"}), "another kind": file("write /a", "/a"),
	} {
		if d := detailOf(&e, "/p", "/home/ana"); !d.Partial || d.Words != nil || d.Path+d.Host+d.Server+d.Tool != "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
