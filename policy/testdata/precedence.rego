# The precedence table as an oracle for tests: each row says by itself when it
# applies, and the first that applies answers. The engine's Go code walks the
# rows in order instead; both must agree on every combination.
#
# Input: {effect: {kind, guarded, holds_rules, claimed, hint, cause, outside, below_root}, fence, person, trusted, only_org,
# reject, choice: none|plain|exact, run: none|allow|project|base (who allowed the run
# that an inherent effect belongs to; project: nobody else),
# fired: [{layer, set, remember: none|true|false, covers, covers_named, general}]}
package permd.oracle

import rego.v2

answer := {"row": row, "verdict": verdict_of[row]} if {
	row := min({r | some r, _ in verdict_of})
}

verdict_of[1] := "deny" if input.fence

verdict_of[1] := "deny" if {
	some f in input.fired
	f.set == "deny"
}

verdict_of[2] := "deny" if input.reject

verdict_of[3] := "ask" if {
	input.person
	not input.effect.hint
}

verdict_of[3] := "ask" if input.effect.holds_rules

verdict_of[3] := "ask" if {
	input.effect.kind in {"question", "mode"}
	not input.effect.hint
}

verdict_of[3] := "ask" if {
	not input.effect.hint
	input.effect.kind == "unknown"
	input.effect.cause != "only_named"
	count(unknown_covered) == 0
}

verdict_of[3] := "ask" if {
	not input.effect.hint
	input.effect.kind == "unknown"
	input.effect.cause != ""
	input.effect.cause != "only_named"
}

# What an agent only names by its kind is covered by nothing else.
verdict_of[3] := "ask" if {
	not input.effect.hint
	input.effect.cause == "only_named"
	count(named_covered) == 0
}

verdict_of[4] := "ask" if {
	some f in input.fired
	f.layer == "org"
	f.set == "ask"
	org_ask_stands(f)
}

verdict_of[5] := "ask" if {
	input.effect.guarded
	input.choice != "exact"
	count(guard_covered) == 0
}

verdict_of[6] := "ask" if {
	some f in input.fired
	f.layer in {"user", "project"}
	f.set == "ask"
	f.remember == "false"
}

verdict_of[7] := "allow" if input.choice != "none"

verdict_of[8] := "ask" if {
	some f in input.fired
	f.layer in {"user", "project"}
	f.set == "ask"
}

# A hint is there for what denies and asks above alone: it passes as if nothing
# were said, and nothing below speaks of it.
verdict_of[9] := "allow" if {
	not input.effect.hint
	some f in input.fired
	f.set == "allow"
	f.layer in allowing
}

verdict_of[9] := "allow" if {
	not input.effect.hint
	input.run == "allow"
}

# What only the project lets run does no more than the project may allow.
verdict_of[9] := "allow" if {
	not input.effect.hint
	input.run == "project"
	projects_business
}

verdict_of[10] := base_verdict if not input.effect.hint

# An inherent effect has no base allow of its own: it takes its run's answer.
base_verdict := "ask" if {
	some f in input.fired
	f.layer == "base"
	f.set == "ask"
} else := "allow" if {
	input.run == "base"
} else := "allow" if {
	some f in input.fired
	f.layer == "base"
	f.set == "allow"
	input.effect.claimed == false
}

verdict_of[11] := "allow" if input.effect.hint

verdict_of[11] := "ask" if not input.effect.hint

org_ask_stands(_) if input.choice == "none"

org_ask_stands(f) if f.remember != "true"

allowing contains "org"

allowing contains "user" if input.only_org == false

allowing contains "project" if {
	input.only_org == false
	projects_business
}

# What a trusted project may allow.
projects_business if {
	input.trusted
	not input.effect.guarded
	not input.effect.claimed
	not input.effect.outside
	projects_kind
}

projects_kind if {
	input.effect.kind in {"read", "write", "delete"}
	input.effect.below_root
}

projects_kind if {
	input.effect.kind == "run"
	input.effect.below_root
	count(particular_asks) == 0
}

projects_kind if input.effect.kind == "connect"

particular_asks contains f if {
	some f in input.fired
	f.layer == "base"
	f.set == "ask"
	f.general == false
}

unknown_covered contains f if {
	some f in input.fired
	f.set == "allow"
	f.covers
	f.layer in allowing
	f.layer != "project"
}

named_covered contains f if {
	some f in input.fired
	f.set == "allow"
	f.covers_named
	f.layer in allowing
	f.layer != "project"
}

guard_covered contains f if {
	some f in input.fired
	f.set == "allow"
	f.covers
	f.layer in allowing
	f.layer != "project"
}
