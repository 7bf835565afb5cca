package decisions

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestReasonOfRun: what the program table says of a run takes the place of a general
// rule's reason, but org does not repeat what a person wrote.
func TestReasonOfRun(t *testing.T) {
	described := &effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Does: "ships it"}}
	own := &effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Does: "ships it", WithoutOverlay: &effects.Run{}}}
	for _, c := range []struct {
		name string
		e    *effects.Effect
		rule Finding
		want string
	}{
		{"general", described, Finding{Reason: "a", General: true}, "ships it"},
		{"specific", described, Finding{Reason: "a"}, "a"},
		{"not described", &effects.Effect{Kind: effects.KindRun, Run: &effects.Run{}}, Finding{Reason: "a", General: true}, "a"},
		{"another kind", &effects.Effect{Kind: effects.KindRead}, Finding{Reason: "a", General: true}, "a"},
		{"a person's words, to a person", own, Finding{Reason: "a", General: true, Rule: RuleRef{Layer: User}}, "ships it"},
		{"a person's words, to org", own, Finding{Reason: "a", General: true, Rule: RuleRef{Layer: Org}}, "a"},
	} {
		if got := reasonFor(c.e, &c.rule); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestReasonOfCall: of several effects that are asked about, the reason of the one that
// tells most is the call's.
func TestReasonOfCall(t *testing.T) {
	ask := func(kind effects.Kind, general bool, reason string) (effects.Effect, effectResult) {
		e := effects.Effect{Kind: kind}
		o := byRules(&e, Ask, RowBase, []Finding{{Reason: reason, General: general}})
		o.needed = NeededByDefault
		return e, o
	}
	anyRun, general := ask(effects.KindRun, true, "may change something")
	connect, network := ask(effects.KindConnect, false, "reaches the network")
	remove, deletes := ask(effects.KindDelete, false, "deletes a file")
	silent := effectResult{verdict: Ask, row: RowDefault, by: ByDefault, needed: NeededByDefault, reason: "no rule speaks of this"}
	firm := effectResult{verdict: Ask, row: RowFirmAsk, by: ByPolicy, needed: NeededByRule, reason: "firm"}
	denied := effectResult{verdict: Deny, row: RowDeny, by: ByPolicy, needed: NotNeeded, reason: "denied"}
	failed := effectResult{verdict: Ask, row: RowFailure, by: ByFailure, needed: NeededByDefault, reason: "failed"}
	for _, c := range []struct {
		want    string
		effects []effects.Effect
		results []effectResult
	}{
		{"may change something", []effects.Effect{anyRun, {}}, []effectResult{general, silent}},
		{"may change something", []effects.Effect{{}, anyRun}, []effectResult{silent, general}},
		{"reaches the network", []effects.Effect{anyRun, connect}, []effectResult{general, network}},
		{"deletes a file", []effects.Effect{connect, remove, connect}, []effectResult{network, deletes, network}},
		{"firm", []effects.Effect{remove, {}}, []effectResult{deletes, firm}},
		{"denied", []effects.Effect{remove, {}}, []effectResult{deletes, denied}},
		{"failed", []effects.Effect{{}, remove}, []effectResult{failed, deletes}},
	} {
		var d Decision
		if d.conclude(c.effects, c.results); d.Reason != c.want {
			t.Errorf("the reason is %q, want %q", d.Reason, c.want)
		}
	}
}
