package languages

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// GitFormat reports whether a format of git log, for-each-ref and the like only prints data
// of the repository: it checks no signature, and is not the name of a format that the
// configuration may define.
func GitFormat(format string) bool {
	if !readable(format) {
		return false
	}
	format = strings.TrimPrefix(strings.TrimPrefix(format, "t"), "format:")
	if gitFormats.Has(format) || format == "" {
		return true
	}
	if !strings.Contains(format, "%") {
		// It may be the name of a format in the configuration.
		return strings.ContainsAny(format, " :")
	}
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return true
		}
		n := gitPart(after)
		if n == 0 {
			return false
		}
		// git searches for the next % wherever it gave up: "% %G?" is a space and %G?.
		// Only the pair %%, and the bytes %xNN in a field, belong to what is before them.
		if part := after[:n]; part != "%" && strings.Contains(strings.ReplaceAll(part, "%x", ""), "%") {
			return false
		}
		rest = after[n:]
	}
}

// GitSort reports whether a sort key of git branch, tag, for-each-ref and ls-remote is a
// field that is only read: for others, such as signature, git runs the program that the
// configuration names.
func GitSort(key string) bool {
	key = strings.TrimPrefix(key, "-")
	for _, prefix := range []string{"version:", "v:"} {
		key = strings.TrimPrefix(key, prefix)
	}
	field := "(" + key + ")"
	return readable(key) && gitField(field) == len(field)
}

var (
	gitFormats = wordset.Fields("oneline short medium full fuller reference email mboxrd raw")
	// gitLetters are placeholders of one letter, gitPairs those of two.
	gitLetters = "HhTtPpdDefsSbBNmnw%"
	gitPairs   = wordset.Fields("an aN ae aE al aL ad aD ar at ai aI as ah cn cN ce cE cl cL cd cD cr ct ci cI cs ch gD gd gs gn gN ge gE")
	gitColors  = wordset.Fields("Cred Cgreen Cblue Creset")
	gitSets    = wordset.Fields("C w < > >> << <| >| ><")
	// gitFields are the fields of for-each-ref and cat-file. raw, the object itself, is the
	// content of a file where a reference is of one.
	gitFields = wordset.Fields(`
		refname objecttype objectsize objectname deltabase upstream push HEAD color align end if then else symref worktreepath tree parent
		numparent object type tag author authorname authoremail authordate committer committername committeremail committerdate tagger
		taggername taggeremail taggerdate creator creatordate subject body trailers contents rest describe version ahead-behind is-base
		objectmode path eolinfo eolattr`)
)

// gitPart returns the length of the placeholder after a %, 0 if it is not known.
func gitPart(text string) int {
	signs := span(text, func(c byte) bool { return c == '+' || c == '-' || c == ' ' })
	rest := text[signs:]
	switch {
	case rest == "":
		return 0
	case rest[0] == '(':
		return signs + gitField(rest)
	case len(rest) >= 3 && rest[0] == 'x' && strings.Trim(rest[1:3], "0123456789abcdefABCDEF") == "":
		return signs + 3
	case len(rest) >= 2 && gitPairs.Has(rest[:2]):
		return signs + 2
	}
	for color := range gitColors.All() {
		if strings.HasPrefix(rest, color) {
			return signs + len(color)
		}
	}
	if n := strings.IndexByte(rest, '('); n > 0 && gitSets.Has(rest[:n]) {
		end := strings.IndexByte(rest, ')')
		if end < n || strings.Trim(rest[n+1:end], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789, #-") != "" {
			return 0
		}
		return signs + end + 1
	}
	if len(rest) >= 2 && strings.IndexByte("0123456789abcdef", rest[0]) >= 0 && strings.IndexByte("0123456789abcdef", rest[1]) >= 0 {
		return signs + 2 // of for-each-ref: a byte as two hexadecimal digits
	}
	if strings.IndexByte(gitLetters, rest[0]) >= 0 {
		return signs + 1
	}
	return 0
}

// gitField returns the length of a field in parentheses, 0 if it is not known.
func gitField(text string) int {
	end := strings.IndexByte(text, ')')
	if end < 0 {
		return 0
	}
	if strings.TrimPrefix(text[1:end], "*") == "raw:size" {
		return end + 1
	}
	field, _, _ := strings.Cut(strings.TrimPrefix(text[1:end], "*"), ":")
	field, _, _ = strings.Cut(field, "=")
	for rest := text[:end]; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			break
		}
		if len(after) < 3 || after[0] != 'x' {
			return 0 // more than one character, such as a separator
		}
		rest = after
	}
	if !gitFields.Has(field) {
		return 0
	}
	return end + 1
}
