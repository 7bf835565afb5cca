package acp

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

func opt(kind OptionKind, id, name string) Option { return Option{ID: id, Name: name, Kind: kind} }

func TestChoose(t *testing.T) {
	yes, no := opt(AllowOnce, "y", "Yes"), opt(RejectOnce, "n", "No")
	always := opt(AllowAlways, "a", "Always")
	never := opt(RejectAlways, "x", "Never")
	openhands := []Option{
		opt(AllowOnce, "accept", "Yes, proceed"), no,
		opt(AllowOnce, "risk_based", "Auto-confirm LOW/MEDIUM risk"),
	}
	tests := []struct {
		name        string
		options     []Option
		facts       Facts
		allow, deny string // "" for none
	}{
		{"plain", []Option{yes, always, no}, Facts{}, "y", "n"},
		{"none at all", nil, Facts{}, "", ""},
		{"never always for allow", []Option{always, no}, Facts{}, "", "n"},
		{"two once", []Option{yes, opt(AllowOnce, "y2", "Yes, for the turn"), no}, Facts{}, "", "n"},
		{"two once, one named by the agent's profile", openhands, Facts{Plain: "accept"}, "accept", "n"},
		{"two once, none named", openhands, Facts{}, "", "n"},
		{"profile's option not offered", []Option{yes, opt(AllowOnce, "z", "Go"), no}, Facts{Plain: "accept"}, "", "n"},
		{"profile's option offered twice", append(openhands[:3:3], openhands[0]), Facts{Plain: "accept"}, "", ""},
		{"profile's option widens", []Option{opt(AllowOnce, "accept", "Always accept"), yes, no}, Facts{Plain: "accept"}, "", "n"},
		{"once that says always", []Option{opt(AllowOnce, "y", "Always allow"), no}, Facts{}, "", "n"},
		{"once that says it in its id", []Option{opt(AllowOnce, "allow-session", "Yes"), no}, Facts{}, "", "n"},
		{"once that says it in camel case", []Option{opt(AllowOnce, "allowAlways", "Yes"), no}, Facts{}, "", "n"},
		{"once that bypasses", []Option{opt(AllowOnce, "y", "Yes, and bypass permissions"), no}, Facts{}, "", "n"},
		{"once that accepts automatically", []Option{opt(AllowOnce, "y", "Yes, auto-accept edits"), no}, Facts{}, "", "n"},
		{"once that does not ask again", []Option{opt(AllowOnce, "y", "Yes, and don’t ask again"), no}, Facts{}, "", "n"},
		{"once that will stop asking", []Option{opt(AllowOnce, "y", "Yes, without asking"), no}, Facts{}, "", "n"},
		{"once that hides a word", []Option{opt(AllowOnce, "y", "al\u200bways"), no}, Facts{}, "", "n"},
		{"once with a reversed word", []Option{opt(AllowOnce, "y", "\u202esyawla"), no}, Facts{}, "", "n"},
		{"once for all that is alike", []Option{opt(AllowOnce, "y", "Allow similar commands"), no}, Facts{}, "", "n"},
		{"once until a restart", []Option{opt(AllowOnce, "y", "Allow until restart"), no}, Facts{}, "", "n"},
		{"once that switches the sandbox off", []Option{opt(AllowOnce, "y", "Run without sandbox"), no}, Facts{}, "", "n"},
		{"once that accepts edits by its id", []Option{opt(AllowOnce, "accept-edits", "Yes"), no}, Facts{}, "", "n"},
		{"once with a letter of another script", []Option{opt(AllowOnce, "y", "\u0410lways allow"), no}, Facts{}, "", "n"},
		{"once in another script", []Option{opt(AllowOnce, "y", "\u0414\u0430"), no}, Facts{}, "y", "n"},
		{"once that says no", []Option{opt(AllowOnce, "y", "Reject"), no}, Facts{}, "", "n"},
		{"once that lasts by its meta", []Option{{ID: "y", Name: "Allow", Kind: AllowOnce, lasts: true}, no}, Facts{}, "", "n"},
		{"reject that says yes", []Option{yes, opt(RejectOnce, "n", "Allow")}, Facts{}, "y", ""},
		{"reject that says yes beside one that says no", []Option{yes, opt(RejectOnce, "m", "Approve"), no}, Facts{}, "y", "n"},
		{"reject that speaks of allowing", []Option{yes, opt(RejectOnce, "n", "Do not allow")}, Facts{}, "y", "n"},
		{"reject always that says yes, permanent rule", []Option{yes, opt(RejectAlways, "x", "Accept")}, Facts{permanent: true}, "y", ""},
		{"once that mentions just once", []Option{opt(AllowOnce, "y", "Yes, just this once"), no}, Facts{}, "y", "n"},
		{"repeated ids", []Option{yes, opt(RejectOnce, "y", "No")}, Facts{}, "", ""},
		{"repeated ids elsewhere", []Option{yes, no, always, always}, Facts{}, "", ""},
		{"all of one kind", []Option{yes}, Facts{}, "", ""},
		{"question", []Option{yes, no}, Facts{question: true}, "", "n"},
		{"question with answers", []Option{yes, opt(AllowOnce, "z", "Other"), no}, Facts{question: true}, "", ""},
		{"mode switch", []Option{yes, no}, Facts{modeSwitch: true}, "", "n"},
		{"defect", []Option{yes, no}, Facts{defective: true}, "", "n"},
		{"incomplete", []Option{yes, no}, Facts{incomplete: true}, "", "n"},
		{"reject that goes on, named", []Option{yes, opt(RejectOnce, "cancel", "No, and tell"), opt(RejectOnce, "decline", "No, continue")}, Facts{}, "y", "decline"},
		{"reject that goes on, by words", []Option{yes, opt(RejectOnce, "abort", "No"), opt(RejectOnce, "timed_out", "-"), opt(RejectOnce, "r", "No")}, Facts{}, "y", "r"},
		{"rejects that all stop", []Option{yes, opt(RejectOnce, "abort", "No"), opt(RejectOnce, "timed_out", "-")}, Facts{}, "y", "abort"},
		{"plan review", []Option{yes, opt(RejectOnce, "plan_reject_and_exit", "No"), opt(RejectOnce, "plan_revise", "Revise")}, Facts{modeSwitch: true}, "", "plan_revise"},
		{"only reject always", []Option{yes, never}, Facts{}, "y", ""},
		{"only reject always, permanent rule", []Option{yes, never}, Facts{permanent: true}, "y", "x"},
		{"two reject always, permanent rule", []Option{yes, never, opt(RejectAlways, "x2", "Never")}, Facts{permanent: true}, "y", ""},
		{"reject once before always, permanent rule", []Option{yes, never, no}, Facts{permanent: true}, "y", "n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for v, want := range map[decisions.Verdict]string{decisions.Allow: tt.allow, decisions.Deny: tt.deny} {
				got, ok := Choose(tt.options, v, tt.facts)
				if got != want || ok != (want != "") {
					t.Errorf("Choose(%s) = %q, %v, want %q", v, got, ok, want)
				}
			}
			for _, v := range []decisions.Verdict{decisions.Ask, "", "Allow"} {
				if got, ok := Choose(tt.options, v, tt.facts); ok {
					t.Errorf("Choose(%q) = %q, want none", v, got)
				}
			}
		})
	}
}

func TestOptionLasts(t *testing.T) {
	change := func(kind, scope string) string {
		return `{"permission":{"version":1,"changes":[{"type":"` + kind + `","lifetime":{"scope":"` + scope + `"}}]}}`
	}
	for name, tt := range map[string]struct {
		meta string
		want bool
	}{
		"none":                 {`null`, false},
		"of somebody else":     {`{"x":{"changes":[1]}}`, false},
		"a turn":               {change("grant", "turn"), false},
		"a session":            {change("grant", "session"), true},
		"a rule":               {change("policy_rule", "turn"), true},
		"no lifetime":          {`{"permission":{"changes":[{"type":"grant"}]}}`, true},
		"changes of no type":   {`{"permission":{"changes":"session"}}`, true},
		"nothing that changes": {`{"permission":{"version":1,"changes":[]}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOption(strictjson.Value(`{"optionId":"a","name":"Allow","kind":"allow_once","_meta":`+tt.meta+`}`), "options[0]", version1)
			if err != nil {
				t.Fatal(err)
			}
			if o.lasts != tt.want {
				t.Errorf("Lasts = %v, want %v", o.lasts, tt.want)
			}
		})
	}
}

// TestKnownOptions reads lists of options after each other on one connection. What is known
// of the list before must never be used for another, or for another version, and must not
// be a part of a message.
func TestKnownOptions(t *testing.T) {
	const (
		once   = `[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]`
		always = `[{"optionId":"y","name":"Always","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]`
		lasts  = `[{"optionId":"y","name":"Allow","kind":"allow_once","_meta":{"permission":{"changes":1}}},{"optionId":"n","name":"Reject","kind":"reject_once"}]`
		other  = `[{"optionId":"y","name":"Allow","kind":"allow_for_today"},{"optionId":"n","name":"Reject","kind":"reject_once"}]`
		broken = `[{"optionId":"y","name":"Allow"}]`
		none   = `[]`
	)
	long := `[{"optionId":"y","name":"Allow","kind":"allow_once","_meta":"` + strings.Repeat("a", maxKnownOptions) + `"},{"optionId":"n","name":"Reject","kind":"reject_once"}]`
	var k knownOptions
	for i, step := range []struct {
		raw   string
		ver   version
		allow bool // the first option allows just the call
		err   bool
	}{
		{once, version1, true, false},
		{once, version1, true, false},
		{always, version1, false, false},
		{once, version1, true, false},
		{lasts, version1, false, false},
		{other, version1, false, true},
		{other, version2, false, false},
		{other, version1, false, true},
		{broken, version1, false, true},
		{broken, version1, false, true},
		{long, version1, true, false},
		{none, version1, false, false},
		{none, version2, false, true},
		{none, version1, false, false},
		{once, version2, true, false},
	} {
		message := []byte(`{"options":` + step.raw + `}`)
		o, err := strictjson.ParseObject(message)
		if err != nil {
			t.Fatal(err)
		}
		got, kinds, err := k.parse(o, step.ver)
		if (err != nil) != step.err {
			t.Fatalf("step %d: error %v, want one: %t", i, err, step.err)
		}
		if len(step.raw) <= maxKnownOptions {
			clear(message)
		}
		var want []string
		for _, o := range got {
			want = append(want, string(o.Kind))
		}
		if !slices.Equal(kinds, slices.Compact(want)) {
			t.Errorf("step %d: kinds %v of %v", i, kinds, want)
		}
		if id, ok := Choose(got, decisions.Allow, Facts{}); ok != step.allow || ok && id != "y" {
			t.Errorf("step %d: allowed by %q, %t", i, id, ok)
		}
	}
	if len(k.raw) > maxKnownOptions {
		t.Errorf("%d bytes are kept", len(k.raw))
	}
}

// TestMeaningKept compares what is kept of an option's words with the words.
func TestMeaningKept(t *testing.T) {
	for _, text := range []string{"Yes", "No, and don't allow it", "Always allow", "Yes, auto-accept edits", "Stop", "", "al\u200bways", "\u0410lways"} {
		raw, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseOptions(strictjson.Value(`[{"optionId":"a","name":`+string(raw)+`,"kind":"allow_once"}]`), version1)
		if err != nil {
			t.Fatal(err)
		}
		if want := opt(AllowOnce, "a", text); list[0].means != want.meaning() || list[0].means&meansRead == 0 {
			t.Errorf("%q means %b, want %b", text, list[0].means, want.meaning())
		}
	}
}
