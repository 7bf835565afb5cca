package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
)

// redirects adds the effects of a statement's redirections and returns the standard input
// of its command. Substitutions in them read the shell's input.
func (s *walker) redirects(list []*syntax.Redirect, at *scope, outer runs.Input) (in runs.Input) {
	redirected := outer.Redirected
	in = outer
	in.Own = nil
	defer func() { in.Redirected = redirected }()
	for _, r := range list {
		if s.boundReached() {
			return in
		}
		first, descriptor := len(s.b.Effects), ""
		if r.N != nil {
			descriptor = r.N.Value
			if strings.HasPrefix(descriptor, "{") {
				s.state("a redirection sets a variable", s.source(r.N))
				s.assign(strings.Trim(descriptor, "{}"), at)
			}
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = s.hereDocument(r, at, in, outer, descriptor)
		case syntax.WordHdoc:
			words := s.expand(nil, r.Word, at, outer, inAssignment)
			if descriptor == "" || descriptor == "0" {
				in = runs.Input{Kind: effects.StdinText, Text: words[0].Text + "\n"}
				if words[0].Dynamic() {
					in.Text = effects.DynamicWord
				}
			}
		default:
			in = s.redirect(r, descriptor, at, in, outer)
		}
		redirected = s.redirectsOutput(r, descriptor, first, redirected)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn, syntax.RdrInOut:
			// The input may come from a substitution.
			if (descriptor == "" || descriptor == "0") && s.reachesNetwork(first, len(s.b.Effects)) {
				in.Kind = effects.StdinNetwork
			}
		}
	}
	return in
}

// redirectsOutput reports whether standard output is certainly no terminal after a redirection,
// whose effects begin at first; before says whether it was.
func (s *walker) redirectsOutput(r *syntax.Redirect, descriptor string, first int, before bool) bool {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return before && strings.TrimLeft(descriptor, "0") != "1"
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
		if descriptor == "" {
			return before // of standard input
		}
	case syntax.RdrAll, syntax.AppAll:
		if descriptor = "1"; s.b.Readers()&plainshell.Sh != 0 {
			return false // to sh, "a &>b" is "a & >b"
		}
	}
	switch descriptor {
	case "", "1":
	case "0", "2", "3", "4", "5", "6", "7", "8", "9":
		return before
	default:
		return false
	}
	opened := s.b.Effects[first:]
	switch target, plain := plainLiteral(r.Word); {
	case isProcessSubstitution(r), plain && target == "/dev/null":
		return true
	case plain && target == "1" && (r.Op == syntax.DplIn || r.Op == syntax.DplOut):
		return before
	}
	return slices.ContainsFunc(opened, func(e effects.Effect) bool { return e.Kind == effects.KindWrite && e.File != nil }) &&
		!slices.ContainsFunc(opened, func(e effects.Effect) bool { return e.Tags.Has(effects.Device) })
}

// isProcessSubstitution reports whether a redirection is to or from another command of the text, < <(…)
// or > >(…), which has effects of its own.
func isProcessSubstitution(r *syntax.Redirect) bool {
	if len(r.Word.Parts) != 1 {
		return false
	}
	p, ok := r.Word.Parts[0].(*syntax.ProcSubst)
	return ok && (p.Op == syntax.CmdIn && r.Op == syntax.RdrIn ||
		p.Op == syntax.CmdOut && (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrAll || r.Op == syntax.AppAll))
}

func (s *walker) redirect(r *syntax.Redirect, descriptor string, at *scope, in, outer runs.Input) runs.Input {
	words := s.expand(nil, r.Word, at, outer, inRedirect)
	target := words[0]
	stdin := descriptor == "" || descriptor == "0"
	if isProcessSubstitution(r) {
		if stdin && r.Op == syntax.RdrIn {
			in = runs.Input{Kind: effects.StdinPipe}
		}
		return in
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		if !target.Dynamic() && strings.Trim(target.Text, "0123456789-") == "" && target.Text != "" {
			if (r.Op == syntax.DplIn && stdin || descriptor == "0") && target.Text != "0" && target.Text != "-" {
				s.unknown("standard input from a descriptor that is not known")
			}
			if s.socket && descriptor == "0" || s.socket && stdin && r.Op == syntax.DplIn {
				in = runs.Input{Kind: effects.StdinNetwork} // 0>&1 after >& /dev/tcp/…
			}
			return in
		}
		if r.Op == syntax.DplIn || (descriptor != "" && descriptor != "1") {
			s.unknown("a descriptor that is not known")
			return in
		}
	}
	if target.Dynamic() || target.Glob || len(words) != 1 {
		s.unknown("a redirection to a path that is not known: " + display.Display(s.source(r)))
		if stdin && (r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut) {
			in = runs.Input{Kind: effects.StdinFile}
		}
		return in
	}
	if target.Text == "!" {
		// To zsh, ">! f" is a redirection to f.
		s.unknown("a redirection that shells read in two ways: " + display.Display(s.source(r)))
		return in
	}
	if rest, ok := cutDevice(target.Text); ok {
		s.b.Add(s.b.Paths.Connect(rest, effects.MethodSend, s.from))
		s.socket = true
		if stdin && (r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut) {
			in = runs.Input{Kind: effects.StdinNetwork}
		}
		return in
	}
	switch r.Op {
	case syntax.RdrIn:
		if target.Text != "/dev/null" {
			s.openFile(effects.KindRead, target.Text, at)
		}
	case syntax.RdrInOut:
		s.openFile(effects.KindRead, target.Text, at)
		s.openFile(effects.KindWrite, target.Text, at)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		switch target.Text {
		case "/dev/null", "/dev/stdout", "/dev/stderr":
		default:
			s.openFile(effects.KindWrite, target.Text, at)
		}
		if descriptor == "0" {
			in = runs.Input{Kind: effects.StdinFile}
		}
		return in
	default:
		s.unknown("a kind of redirection that permd does not know")
	}
	if stdin {
		in = runs.Input{Kind: effects.StdinFile}
	}
	return in
}

// openFile adds the effect of a file that a redirection opens.
func (s *walker) openFile(kind effects.Kind, target string, at *scope) {
	s.each(at, func(cwd string) { s.b.Add(s.b.Operand(kind, target, cwd, s.from)) })
}

// mayFail reports whether one of the redirections may fail, so that the command does not
// run.
func mayFail(list []*syntax.Redirect) bool {
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		case syntax.DplIn, syntax.DplOut:
			switch r.Word.Lit() {
			case "0", "1", "2", "-":
				continue
			}
		}
		if r.Word.Lit() != "/dev/null" {
			return true
		}
	}
	return false
}

// cutDevice returns the host and port of bash's /dev/tcp and /dev/udp.
func cutDevice(target string) (string, bool) {
	for _, head := range []string{"/dev/tcp/", "/dev/udp/"} {
		if rest, ok := strings.CutPrefix(target, head); ok {
			host, port, _ := strings.Cut(rest, "/")
			if port == "" {
				return host, true
			}
			return host + ":" + port, true
		}
	}
	return "", false
}

// hereDocument adds the effects of the substitutions in a here-document.
func (s *walker) hereDocument(r *syntax.Redirect, at *scope, in, outer runs.Input, descriptor string) runs.Input {
	if r.Hdoc != nil {
		s.ignoredWord(r.Hdoc, at, outer)
	}
	if descriptor != "" && descriptor != "0" {
		return in
	}
	text, known := s.hereText(r, at)
	if !known {
		text = effects.DynamicWord
	}
	return runs.Input{Kind: effects.StdinText, Text: text}
}

// hereText returns the text of a here-document, if it is known.
func (s *walker) hereText(r *syntax.Redirect, at *scope) (string, bool) {
	if r.Hdoc == nil {
		return "", true
	}
	var text strings.Builder
	quoted := quotedDelimiter(r.Word)
	for _, part := range r.Hdoc.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if quoted {
				text.WriteString(part.Value)
			} else {
				unescapeQuoted(&text, part.Value, "$`\\")
			}
		case *syntax.ParamExp:
			value, ok := s.variable(part, at)
			if !ok {
				return "", false
			}
			text.WriteString(value)
		default:
			return "", false
		}
	}
	if r.Op != syntax.DashHdoc {
		return text.String(), true
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n"), true
}

// catHereDocument returns the value of $(cat <<'EOF' … EOF), the form in which agents write long
// texts.
func (s *walker) catHereDocument(sub *syntax.CmdSubst, at *scope) (string, bool) {
	if len(sub.Stmts) != 1 || s.allRedefined || s.redefined["cat"] {
		return "", false
	}
	stmt := sub.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || stmt.Background || stmt.Coprocess || len(call.Assigns) != 0 || len(call.Args) == 0 {
		return "", false
	}
	if name := call.Args[0].Lit(); len(stmt.Redirs) == 0 && (name == "echo" || name == "printf") && !s.redefined[name] {
		return s.echoOutput(name, call.Args[1:], at)
	}
	if len(stmt.Redirs) != 1 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" {
		return "", false
	}
	r := stmt.Redirs[0]
	if r.N != nil || r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		return "", false
	}
	text, ok := s.hereText(r, at)
	return strings.TrimRight(text, "\n"), ok
}

// quotedDelimiter reports whether a here-document is not expanded.
func quotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}
