package main

import (
	"context"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// score has all scores. Scripts read its members by name: members may be added but
// not renamed.
type score struct {
	Bypass     *bypassScore          `json:"bypass,omitzero"`
	Judgement  *labelledScore        `json:"judgement,omitzero"`
	AgentCalls *callsScore           `json:"agent_calls,omitzero"`
	Peers      map[string]*peerScore `json:"peers,omitzero"`
	Usage      *usageScore           `json:"usage,omitzero"`
	Reasons    *reasonsScore         `json:"reasons,omitzero"`
}

type unsafeCount struct {
	Unsafe int `json:"unsafe"`
	Total  int `json:"total"`
}

type askedCount struct {
	Asked int `json:"asked"`
	Total int `json:"total"`
}

type bypassScore struct {
	Tier1  unsafeCount `json:"tier1"`
	Tier2  unsafeCount `json:"tier2"`
	Tier3  unsafeCount `json:"tier3"`
	Tier4  unsafeCount `json:"tier4"`
	Benign askedCount  `json:"benign"`
	// Untranslated counts rows whose rule has no translation. They are in no total.
	Untranslated int `json:"untranslated"`
	// Refused counts lines of rules that permd refuses, so that the mistake of the
	// row cannot be made.
	Refused int                     `json:"refused"`
	Classes map[string]*unsafeCount `json:"classes"`
}

type deniedCount struct {
	Denied int `json:"denied"`
	Total  int `json:"total"`
}

type labelledScore struct {
	Unsafe         int         `json:"unsafe"`
	Overreach      int         `json:"overreach"`
	Noise          int         `json:"noise"` // labelled allow, and asked
	AllowTotal     int         `json:"allow_total"`
	Total          int         `json:"total"`
	DenyPlain      deniedCount `json:"deny_plain"`
	DenyObfuscated deniedCount `json:"deny_obfuscated"`
	// Confusion counts rows by label, variant and verdict.
	Confusion map[string]map[string]map[string]int `json:"confusion"`
	Families  map[string]*unsafeCount              `json:"families"`
}

type usageScore struct {
	Answered int            `json:"answered"`
	Total    int            `json:"total"`
	Unknown  int            `json:"unknown"`
	Verdicts map[string]int `json:"verdicts"`
}

// rates counts the verdicts of some calls.
type rates struct {
	Allow int `json:"allow"`
	Ask   int `json:"ask"`
	Deny  int `json:"deny"`
	// PromptRate is the share of calls that were asked: for all repositories, the
	// mean of their shares.
	PromptRate float64 `json:"prompt_rate"`
}

type callsScore struct {
	Memoryless rates `json:"memoryless"`
	WithMemory rates `json:"with_memory"`
	// Repositories is how many repositories the means are made of.
	Repositories int `json:"repositories"`
	// NoCwd and Windows are rows that are in no other number.
	NoCwd   *modes `json:"no_cwd,omitzero"`
	Windows *modes `json:"windows,omitzero"`
	// Cut are patches of which the corpus has only the beginning, so that nobody
	// could tell what they do. They are counted in the other numbers too.
	Cut *modes `json:"cut,omitzero"`
	// ByAgent and ByTool are not weighted by repository.
	ByAgent map[string]*modes `json:"by_agent"`
	ByTool  map[string]*modes `json:"by_tool"`
	// ByRepository is keyed by the repository's number in the corpus.
	ByRepository []*modes     `json:"by_repository"`
	Unknown      unknownScore `json:"unknown"`

	asked [2][]cause // without memory, with memory
}

type modes struct {
	Memoryless rates `json:"memoryless"`
	WithMemory rates `json:"with_memory"`
}

// unknownScore counts the agents' commands that permd does not understand.
type unknownScore struct {
	Commands int `json:"commands"`
	Programs int `json:"programs"` // commands with an unknown program
	Effects  int `json:"effects"`  // commands with an unknown effect

	programs, why []cause

	notPlain   int            // commands that shells read differently
	constructs map[string]int // the same, by construct
}

type peerScore struct {
	Agree        int `json:"agree"`
	Total        int `json:"total"`
	Untranslated int `json:"untranslated"`
}

// measure measures all corpora in a folder.
func (b *bench) measure(ctx context.Context, dir string) (*score, error) {
	s := new(score)
	attacks, err1 := readRows[bypassRow](dir, "bypass.jsonl")
	labelled, err2 := readRows[labelledRow](dir, "judgement.jsonl")
	calls, err3 := readRows[callRow](dir, "agent-calls.jsonl")
	peers, err4 := readRows[peerRow](dir, "peer-cases.jsonl")
	usage, err5 := readRows[usageRow](dir, "usage-commands.jsonl")
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return nil, err
		}
	}
	if len(attacks)+len(labelled)+len(calls)+len(peers)+len(usage) == 0 {
		return nil, fmt.Errorf("there is no corpus in %s", dir)
	}
	for _, step := range []struct {
		rows int
		run  func() error
	}{
		{len(attacks), func() (err error) { s.Bypass, err = b.bypass(ctx, attacks); return err }},
		{len(labelled), func() (err error) { s.Judgement, err = b.labelled(ctx, labelled); return err }},
		{len(calls), func() (err error) { s.AgentCalls, err = b.calls(ctx, calls); return err }},
		{len(peers), func() (err error) { s.Peers, err = b.peers(ctx, peers); return err }},
		{len(usage), func() (err error) { s.Usage, err = b.usage(ctx, usage); return err }},
	} {
		if step.rows == 0 {
			continue
		}
		if err := step.run(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	s.Reasons = b.found.reasons()
	return s, nil
}

func marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}

func writeJSON(out io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encoding the scores: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", b)
	return err
}
