package shell

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// The output of commands, as far as it is known, so that rules see what is decoded or
// piped to a shell. It is only used in addition to the question that such a command asks
// anyway: nothing is allowed because of it.

const (
	// maxStages is how many commands of a pipeline are followed.
	maxStages = 8
)

// output returns what a statement prints if its own words determine all of it, ""
// otherwise.
func (s *walker) output(stmt *syntax.Stmt, at *scope, in runs.Input) string {
	if stmt == nil || stmt.Negated || stmt.Background || stmt.Coprocess || s.allRedefined || s.outputDepth >= maxStages {
		return ""
	}
	// A guess must not depend on other guesses: each level of substitutions would
	// double the work.
	s.outputDepth++
	defer func() { s.outputDepth-- }()
	for _, r := range stmt.Redirs {
		switch {
		case r.Op == syntax.WordHdoc && r.N == nil:
			value := s.value(r.Word, "", at)
			if value.Dynamic() || value.Glob {
				return ""
			}
			in = runs.Input{Kind: effects.StdinText, Text: value.Text}
		case (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) && r.N == nil:
			text, ok := s.hereText(r, at)
			if !ok {
				return ""
			}
			in = runs.Input{Kind: effects.StdinText, Text: text}
		case r.N != nil && r.N.Value == "2":
		default:
			return ""
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return s.commandOutput(cmd, at, in)
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.Pipe && cmd.Op != syntax.PipeAll {
			return ""
		}
		left := s.output(cmd.X, at, in)
		if left == "" {
			return ""
		}
		return s.output(cmd.Y, at, runs.Input{Kind: effects.StdinText, Text: left})
	}
	return ""
}

// guess returns the text of a word that consists of one substitution, or the file that it
// names.
func (s *walker) guess(w *syntax.Word, at *scope) string {
	parts := w.Parts
	if len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = quoted.Parts
		}
	}
	if s.outputDepth > 0 || len(parts) != 1 {
		return ""
	}
	var stmts []*syntax.Stmt
	switch part := parts[0].(type) {
	case *syntax.CmdSubst:
		stmts = part.Stmts
	case *syntax.ProcSubst:
		if part.Op == syntax.CmdIn {
			stmts = part.Stmts
		}
	}
	if len(stmts) != 1 {
		return ""
	}
	return s.output(stmts[0], at, runs.Input{})
}

// commandOutput is output for a simple command.
func (s *walker) commandOutput(call *syntax.CallExpr, at *scope, in runs.Input) string {
	if len(call.Assigns) != 0 || len(call.Args) == 0 {
		return ""
	}
	name := call.Args[0].Lit()
	if name == "" || s.redefined[name] {
		return ""
	}
	switch name {
	case "echo", "printf":
		if name == "echo" && len(call.Args) == 2 {
			// The operand is all that is printed.
			if value := s.value(call.Args[1], "", at); !value.Dynamic() && !value.Glob && len(value.Text) <= runs.MaxOutput {
				return value.Text
			}
		}
		if name == "echo" && len(call.Args) == 3 && strings.Trim(call.Args[1].Lit(), "ne") == "-" {
			if value := s.value(call.Args[2], "", at); !value.Dynamic() && !value.Glob && len(value.Text) <= runs.MaxOutput {
				text, _ := ansiC(value.Text)
				return text
			}
		}
		text, _ := s.echoOutput(name, call.Args[1:], at)
		if len(text) > runs.MaxOutput {
			return ""
		}
		return text
	}
	text, ok := in.Known()
	if !ok || len(text) > runs.MaxOutput {
		return ""
	}
	var args []string
	for _, w := range call.Args[1:] {
		value := s.value(w, "", at)
		if value.Dynamic() || value.Glob {
			return ""
		}
		args = append(args, value.Text)
	}
	return transformOutput(name, args, text)
}

// transformOutput returns the output of a program that only transforms its input, "" for
// others.
func transformOutput(name string, args []string, text string) string {
	is := func(options ...string) bool {
		return len(args) > 0 && !slices.ContainsFunc(args, func(a string) bool { return !slices.Contains(options, a) })
	}
	compact := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\r\n", c) {
			return -1
		}
		return c
	}, text)
	var data []byte
	var err error
	switch {
	case name == "cat" && len(args) == 0, name == "cat" && is("-"):
		return text
	case name == "base64" && is("-d", "-D", "--decode", "-i", "-di", "--ignore-garbage", "-"):
		data, err = base64.StdEncoding.DecodeString(compact)
		if err != nil {
			data, err = base64.RawStdEncoding.DecodeString(compact)
		}
	case name == "openssl" && len(args) > 1 && (args[0] == "base64" || args[0] == "enc") && slices.Contains(args, "-d"):
		data, err = base64.StdEncoding.DecodeString(compact)
	case name == "base32" && is("-d", "--decode"):
		data, err = base32.StdEncoding.DecodeString(compact)
	case name == "xxd" && (is("-r", "-p", "-ps", "-plain", "-revert") || is("-rp") || is("-r", "-ps")):
		data, err = hex.DecodeString(compact)
	case name == "rev" && len(args) == 0:
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			runes := []rune(line)
			slices.Reverse(runes)
			lines[i] = string(runes)
		}
		return strings.Join(lines, "\n")
	case name == "tr" && len(args) == 2:
		return trOutput(args[0], args[1], text)
	}
	if err != nil {
		return ""
	}
	return string(data)
}

// trOutput returns the output of tr, for sets of characters and ranges.
func trOutput(from, to, text string) string {
	a, b := trCharacters(from), trCharacters(to)
	if len(a) == 0 || len(b) == 0 || len(a) > runs.MaxOutput || len(b) > runs.MaxOutput {
		return ""
	}
	return strings.Map(func(c rune) rune {
		if i := slices.Index(a, c); i >= 0 {
			return b[min(i, len(b)-1)]
		}
		return c
	}, text)
}

// trCharacters returns the characters of tr's set, with its ranges; none for other forms.
func trCharacters(set string) []rune {
	if strings.ContainsAny(set, "[\\") {
		return nil
	}
	var all []rune
	list := []rune(set)
	for i := 0; i < len(list); i++ {
		if i+2 < len(list) && list[i+1] == '-' && list[i] <= list[i+2] && list[i+2] < 128 {
			for c := list[i]; c <= list[i+2]; c++ {
				all = append(all, c)
			}
			i += 2
			continue
		}
		all = append(all, list[i])
	}
	return all
}

// likelyPrograms are programs that a pattern, instead of a program's name, is assumed to
// mean if it matches them.
var likelyPrograms = []string{"rm", "dd", "shred", "chmod", "chown", "wipefs", "bash", "sh", "curl", "nc"}

// likelyName returns the program that an uncertain word probably names: a pattern such as
// /???/rm, or the output of a command. "" for none.
func likelyName(w *effects.Word) string {
	if w.Dynamic() {
		if strings.ContainsAny(w.Guess, " \t\n/*?[") {
			return ""
		}
		return w.Guess
	}
	if !w.Glob {
		return ""
	}
	base := path.Base(w.Text)
	if !strings.ContainsAny(base, "*?[") {
		return base
	}
	i := slices.IndexFunc(likelyPrograms, func(name string) bool {
		ok, err := path.Match(base, name)
		return ok && err == nil
	})
	if i < 0 || strings.Trim(base, "*") == "" {
		return ""
	}
	return likelyPrograms[i]
}
