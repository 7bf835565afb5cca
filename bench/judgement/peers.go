package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// peerRow is a test case of another permission system.
type peerRow struct {
	ID      string              `json:"id"`
	Peer    string              `json:"peer"`
	Mode    string              `json:"mode"` // "rules" or "preset"
	Rules   strictjson.Value    `json:"rules"`
	Command string              `json:"command"`
	Tool    string              `json:"tool"`
	Server  string              `json:"mcp_server"`
	Input   strictjson.Value    `json:"input"`
	Cwd     string              `json:"cwd"`
	Shell   string              `json:"shell"`
	Accept  []decisions.Verdict `json:"accept"`
}

// peers measures how often permd agrees with the verdicts that other systems expect
// in their own tests. It uses their rules if these can be translated, otherwise the
// shipped ones. The systems contradict each other, so nobody can agree with all.
func (b *bench) peers(ctx context.Context, rows []peerRow) (map[string]*peerScore, error) {
	score := map[string]*peerScore{}
	got := make([]result, len(rows))
	err := each(len(rows), func(i int) error {
		r := &rows[i]
		snap := b.shipped
		if r.Mode == "rules" {
			d, ok := translatePeer(r)
			if !ok {
				return nil
			}
			var err error
			if snap, err = b.rules.With(ctx, d.finish()); err != nil {
				return fmt.Errorf("row %s: %w", r.ID, err)
			}
		}
		w, c := r.world(), r.call()
		got[i] = decide(ctx, b.engine(w, snap, nil), snap, w.request(c))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		s := score[r.Peer]
		if s == nil {
			s = new(peerScore)
			score[r.Peer] = s
		}
		class := "untranslated"
		switch {
		case got[i].Decision == nil:
			s.Untranslated++
		case slices.Contains(r.Accept, got[i].Verdict):
			s.Total++
			s.Agree++
			class = "agree"
		default:
			s.Total++
			class = string(got[i].Verdict)
		}
		c := r.call()
		b.found.add(finding{
			classes: []string{"peers." + r.Peer + "." + class}, order: i, id: r.ID,
			expects: fmt.Sprint(r.Accept), call: shown(c.tool, c.input),
		}, got[i])
	}
	return score, nil
}

// placeIn matches the home and the project in the name of a preset.
var placeIn = regexp.MustCompile(`\b(home|project) (/[\w/.-]+)`)

func (r *peerRow) places() (home, project string) {
	for _, m := range placeIn.FindAllStringSubmatch(r.preset(), -1) {
		if m[1] == "home" {
			home = m[2]
		} else {
			project = m[2]
		}
	}
	return cmp.Or(home, devHome), cmp.Or(project, r.Cwd, devProject)
}

func (r *peerRow) preset() string {
	preset, _ := strictjson.ParseString(strictjson.Find(r.Rules, "preset"))
	return preset
}

func (r *peerRow) world() *world {
	home, project := r.places()
	return newWorld(home).checkout(project)
}

// peerAgents are agents that permd has a profile of.
var peerAgents = map[string]string{
	"gemini-cli": "gemini-cli", "opencode": "opencode", "codex": "codex", "cline": "cline", "crush": "crush",
	"goose": "goose", "mistral-vibe": "mistral-vibe",
}

// call returns the row's call. A command without a tool is one of a shell.
func (r *peerRow) call() *call {
	_, project := r.places()
	cwd := cmp.Or(r.Cwd, project)
	if r.Tool != "" {
		return &call{tool: r.Tool, server: r.Server, agent: cmp.Or(peerAgents[r.Peer], claudeAgent), input: r.Input, cwd: cwd}
	}
	c := bash(r.Command, cwd)
	if slices.Contains([]string{"pwsh", "powershell"}, r.Shell) {
		c.tool = "PowerShell"
	}
	return c
}
