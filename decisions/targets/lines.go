package targets

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
)

// What just and rake run is known only of files each line of which is of a plain form: the
// expressions below are all that is understood. A line of another form may read files, run
// commands while the file is read, or go on as code.

var (
	justPlain = lazy.Regexp(strings.Join([]string{
		`^[ \t]*(?:#.*)?$`,
		`^set[ \t]+(?:positional-arguments|export|ignore-comments|quiet|allow-duplicate-recipes|allow-duplicate-variables|unstable)(?:[ \t]*:=[ \t]*(?:true|false))?[ \t]*$`,
		`^set[ \t]+shell[ \t]*:=[ \t]*\[[ \t]*(?:"(?:ba|z|da)?sh"|'(?:ba|z|da)?sh')(?:[ \t]*,[ \t]*(?:"[-a-z]+"|'[-a-z]+'))*[ \t]*\][ \t]*$`,
		`^(?:export[ \t]+)?` + justWord + `[ \t]*:=[ \t]*` + justValue + `(?:[ \t]*[+/][ \t]*` + justValue + `)*[ \t]*(?:#.*)?$`,
		`^alias[ \t]+` + justWord + `[ \t]*:=[ \t]*` + justWord + `[ \t]*$`,
		`^\[(?:private|no-cd|no-exit-message|linux|macos|unix|windows|confirm|positional-arguments|(?:group|doc|confirm)[ \t]*(?:\([ \t]*|:[ \t]*)` + justText + `[ \t]*\)?)\][ \t]*$`,
		`^@?` + justWord + `(?:[ \t]+[+*]?\$?` + justWord + `(?:=` + justText + `)?)*[ \t]*:(?:[ \t]*(?:&&|` + justWord + `))*[ \t]*(?:#.*)?$`,
	}, "|"))
	justRecipe = lazy.Regexp(`^@?(` + justWord + `)(?:[ \t]|:)`)
	justAlias  = lazy.Regexp(`^alias[ \t]+(` + justWord + `)`)
	justInsert = lazy.Regexp(`\{\{[ \t]*` + justWord + `[ \t]*\}\}`)
	justAgain  = lazy.Regexp(`(?:^|[^A-Za-z0-9_.-])just(?:[^A-Za-z0-9_-]|$)|JUST_`)
)

const (
	justWord  = `[A-Za-z_][A-Za-z0-9_-]*`
	justText  = `(?:"[^"\\{}` + "`" + `]*"|'[^'{}` + "`" + `]*')`
	justValue = `(?:` + justText + `|` + justWord + `)`
)

// bindJust binds a run of just to its justfile. just takes a name in any case.
func bindJust(rd *reading, file string) *effects.Script {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		for _, name := range rd.names(dir) {
			if at := path.Join(dir, name); isJustfile(name) && at != file {
				rd.failed(at, "may be taken in place of the justfile")
			}
		}
		if dir == path.Dir(file) || rd.why != "" {
			break
		}
	}
	text, _ := rd.read(file)
	recipes := map[string]bool{}
	inRecipe := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case strings.TrimSpace(line) == "":
		case indented && inRecipe:
			if strings.Contains(justInsert().ReplaceAllString(strings.ReplaceAll(line, "{{{{", ""), ""), "{{") || justAgain().MatchString(line) {
				rd.fail("the justfile is not plain: " + clipped(strings.TrimSpace(line)))
			}
		case indented || !justPlain().MatchString(line) || strings.HasSuffix(line, "\\") || strings.Contains(line, "\r"):
			rd.fail("the justfile is not plain: " + clipped(strings.TrimSpace(line)))
		default:
			inRecipe = false
			if m := justAlias().FindStringSubmatch(line); m != nil {
				recipes[m[1]] = true
			} else if m := justRecipe().FindStringSubmatch(line); m != nil && !strings.Contains(line, ":=") && !strings.HasPrefix(line, "set ") {
				recipes[m[1]], inRecipe = true, true
			}
		}
	}
	if word := firstOperand(rd.run); word != "" && !recipes[word] {
		rd.fail("the justfile has no recipe " + clipped(word))
	}
	return rd.wholeFile(file, text)
}

func isJustfile(name string) bool {
	return strings.EqualFold(name, "justfile") || strings.EqualFold(name, ".justfile")
}

var rakePlain = lazy.Regexp(strings.Join([]string{
	`^[ \t]*(?:#.*)?$`,
	`^require[ \t]+(?:"bundler"|'bundler'|"rake"|'rake'|"rake/clean"|'rake/clean')[ \t]*$`,
	`^[ \t]*desc[ \t]+` + rubyText + `[ \t]*$`,
	`^[ \t]*namespace[ \t]+` + rubyName + `[ \t]+do[ \t]*$`,
	`^[ \t]*task[ \t]+` + rubyName + `(?:[ \t]*=>[ \t]*` + rubyNames + `)?(?:[ \t]+do)?[ \t]*$`,
	`^[ \t]*task[ \t]+[a-z_][a-z0-9_]*:[ \t]*` + rubyNames + `(?:[ \t]+do)?[ \t]*$`,
	`^[ \t]*sh[ \t]+` + rubyText + `[ \t]*$`,
	`^[ \t]*end[ \t]*$`,
}, "|"))

const (
	rubyText  = `(?:"[^"\\#]*"|'[^'\\]*')`
	rubyName  = `(?::[a-z_][a-z0-9_]*|"[a-z_][a-z0-9_:]*"|'[a-z_][a-z0-9_:]*')`
	rubyNames = `(?:` + rubyName + `|\[[ \t]*` + rubyName + `(?:[ \t]*,[ \t]*` + rubyName + `)*[ \t]*\]|%[wi]\[[a-z0-9_: \t]*\])`
)

// bindRake binds a run of rake to its Rakefile, if there are no more tasks in rakelib.
func bindRake(rd *reading, file string) *effects.Script {
	if rd.exists(path.Join(path.Dir(file), "rakelib")) || slices.ContainsFunc(rd.names(path.Dir(file)), func(n string) bool { return strings.EqualFold(n, "rakelib") }) {
		rd.fail("there are more tasks in rakelib")
	}
	text, _ := rd.read(file)
	rd.plainLines(text, rakePlain(), "the Rakefile")
	return rd.wholeFile(file, text)
}

// plainLines fails unless each line of a text is of a plain form.
func (rd *reading) plainLines(text []byte, plain *regexp.Regexp, what string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); !plain.MatchString(line) || strings.ContainsAny(line, "\r\x00") {
			rd.fail(what + " is not plain: " + clipped(strings.TrimSpace(line)))
		}
	}
}

// wholeFile binds to the whole of a file, nil if what it says is not known.
func (rd *reading) wholeFile(file string, text []byte) *effects.Script {
	if rd.why != "" {
		return nil
	}
	s := sum(file, text)
	if isJustfile(path.Base(file)) {
		s.What, s.Text = recipePiece(rd.run, string(text))
	}
	return s
}

// firstOperand returns the first word of a run that is no option.
func firstOperand(r *effects.Run) string {
	for _, w := range r.Args {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}
