package decisions

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// maxIncluded is the maximum number of files that the text of targets includes.
const maxIncluded = 32

// withIncluded returns a text followed by those of the files that it includes, and that
// these include, and the names of the files as they are written; false if they are not
// certain, too many or too large.
func (run *runner) withIncluded(fsys effects.FS, text []byte, cwd string, after *effects.Disturbance) (all []byte, files []string, certain bool) {
	all = text
	for i := 0; ; i++ {
		names, ok := run.included(string(text))
		for _, name := range names {
			if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if !ok {
			return nil, files, false
		}
		if i == len(files) {
			return all, files, true
		}
		file := inFolder(cwd, files[i])
		if len(files) > maxIncluded || mayChange(fsys, after, file) {
			return nil, files, false
		}
		var err error
		text, err = fsys.ReadFile(file, maxTargets)
		state := strconv.Itoa(len(text))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			text, state = nil, "none"
		case err != nil:
			return nil, files, false
		}
		// Names and lengths keep two sets of files with the same bytes apart.
		all = slices.Concat(all, []byte("\x00"+files[i]+"\x00"+state+"\x00"), text)
		if len(all) > maxTargets {
			return nil, files, false
		}
	}
}

// includedByMake returns the files that a makefile includes; false if a name is only
// known to make. A line of a recipe that looks like an include counts as one, since it
// depends on more than the line whether it is.
func includedByMake(text string) (names []string, certain bool) {
	uncertain := false
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "include", "-include", "sinclude":
		case "load", "-load":
			uncertain = true
			continue
		default:
			continue
		}
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "#") {
				break
			}
			if strings.ContainsAny(word, "$*?[~\\#%") {
				uncertain = true
				continue
			}
			names = append(names, word)
		}
	}
	return names, !uncertain
}

// noneMatching returns the included of a program whose texts are certain to include
// nothing only where an expression does not match.
func noneMatching(expression string) func(string) ([]string, bool) {
	includes := regexp.MustCompile(expression)
	return func(text string) ([]string, bool) { return nil, !includes.MatchString(text) }
}
