// Package tally holds what decisions are counted by, and their counts.
package tally

import "github.com/permd/permd/decisions"

// By is what decisions are counted by.
type By string

// The ways to count. Answers are counted of questions alone, and acts are what people did with
// commands of permd, which no other way counts but those that read records. Projects, programs and hosts
// are found by reading the records.
const (
	Agent     By = "agent"
	Tool      By = "tool"
	Verdict   By = "verdict"
	DecidedBy By = "decided-by"
	Day       By = "day"
	Answer    By = "answer"
	Project   By = "project"
	Program   By = "program"
	Host      By = "host"
	Act       By = "act"
)

// Chosen lists the ways that a person can choose.
var Chosen = []By{Agent, Project, Day, Verdict, DecidedBy, Tool, Program, Host}

// ReadsRecords reports whether records must be read to count so.
func (b By) ReadsRecords() bool { return b == Project || b == Program || b == Host }

// Group counts the decisions of one group, by verdict. A decision counts in each group that
// it belongs to: a call that runs two programs in two.
type Group struct {
	By    By     `json:"by"`
	Name  string `json:"name"` // "" for those that have no such name
	Allow int64  `json:"allow"`
	Ask   int64  `json:"ask"`
	Deny  int64  `json:"deny"`
}

// Add counts n decisions of a verdict.
func (g *Group) Add(v decisions.Verdict, n int64) {
	switch v {
	case decisions.Allow:
		g.Allow += n
	case decisions.Deny:
		g.Deny += n
	case decisions.Ask:
		g.Ask += n
	}
}

// All returns the number of decisions.
func (g *Group) All() int64 { return g.Allow + g.Ask + g.Deny }
