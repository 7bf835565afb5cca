package targets

import (
	"path"
	"strings"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/wordset"
)

// A requirement is plain if it is in the grammar of PEP 508, with a package of an index or one on the network. What a
// folder or a file of the project holds is code that runs when it is installed.
var (
	plainRequirement = lazy.Regexp(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?[ \t]*(?:\[[A-Za-z0-9._, \t-]*\])?[ \t]*(?:` + versions + `|\(` + versions + `\))?$`)
	// remoteRequirement is a package at a URL; pip takes a file of that path first.
	remoteRequirement = lazy.Regexp(`^(?:[A-Za-z0-9][A-Za-z0-9._-]*[ \t]*(?:\[[A-Za-z0-9._, \t-]*\])?[ \t]*@[ \t]*)?(?:git\+)?https://[A-Za-z0-9][^\s;$'"\\]*$`)
	trailingExtras    = lazy.Regexp(`[ \t]*\[[^\]]*\]$`)
	hashOption        = lazy.Regexp(`^--hash=[a-z0-9]+:[0-9a-f]+$`)
	// otherEncoding is a line by which pip reads the file in another encoding than UTF-8.
	otherEncoding = lazy.Regexp(`coding[:=]`)
)

// versions are those of a requirement, in the syntax of a regular expression.
const versions = `(?:===|==|~=|!=|<=|>=|<|>)[ \t]*[A-Za-z0-9.*+!_-]+[ \t]*(?:,[ \t]*(?:===|==|~=|!=|<=|>=|<|>)[ \t]*[A-Za-z0-9.*+!_-]+[ \t]*)*`

// archives are how the names of files end that hold packages, in lower case.
var archives = wordset.Fields(".whl .zip .gz .bz2 .xz .tar .tgz .tbz .tbz2 .txz .tlz .lz .lzma .zst .egg")

// plainPackage reports whether a requirement is of a package of an index, or on the network.
func (rd *reading) plainPackage(text string) bool {
	text, marker, _ := strings.Cut(text, ";")
	if strings.Contains(marker, " -") {
		return false // an option
	}
	text = strings.TrimSpace(text)
	if remoteRequirement().MatchString(text) {
		if i := strings.IndexAny(text, "#&"); i >= 0 && (strings.Contains(text[i:], "..") || strings.Contains(text[i:], "=/") || strings.Contains(text[i:], "%")) {
			return false // #subdirectory= may be a folder outside of what is fetched
		}
		if first, _, _ := strings.Cut(text, "/"); !strings.HasPrefix(text, "https:") && !strings.HasPrefix(text, "git+https:") && rd.exists(path.Join(rd.cwd(), first)) {
			return false // of "x @ https://host/y", pip takes a folder with that path first
		}
		return true
	}
	return plainRequirement().MatchString(text) && !archives.Has(strings.ToLower(path.Ext(trailingExtras().ReplaceAllString(text, ""))))
}

// requirementLines reads a file of requirements, and returns the files that it names.
func (rd *reading) requirementLines(file, text string) (files []string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsFunc(text, func(c rune) bool { return (c < ' ' && c != '\n' && c != '\t') || c > '~' }) || otherEncoding().MatchString(text) {
		rd.failed(file, "has characters that readers may take for the end of a line") // str.splitlines of Python
		return nil
	}
	before := ""
	for line := range strings.Lines(text) {
		line = before + strings.TrimSuffix(line, "\n")
		before = ""
		if rest, goesOn := strings.CutSuffix(line, "\\"); goesOn {
			if strings.Contains(rest, "#") || !strings.HasSuffix(rest, " ") {
				rd.failed(file, "has lines of which readers may differ where they end")
			}
			before = rest
			continue
		}
		files = append(files, rd.requirementLine(file, line)...)
	}
	if before != "" {
		rd.failed(file, "ends within a line")
	}
	return files
}

// requirementLine reads a line of a file of requirements.
func (rd *reading) requirementLine(file, line string) (files []string) {
	if i := strings.Index(" "+strings.ReplaceAll(line, "\t", " "), " #"); i >= 0 {
		line = line[:max(i-1, 0)]
	}
	line = strings.TrimSpace(line)
	switch {
	case line == "":
	case strings.Contains(line, "${"):
		rd.failed(file, "names variables, which may be anything")
	case line[0] == '-':
		operands, named := rd.readOptions(path.Dir(file), strings.Fields(line), lineOptions)
		if len(operands) > 0 || strings.ContainsAny(line, "\\\"'") {
			rd.failed(file, "has options with words that are not certain")
		}
		return named
	default:
		text, options, _ := strings.Cut(line, " --")
		for i, option := range strings.Fields("--" + options) {
			if options != "" && !hashOption().MatchString(option) || options == "" && i > 0 {
				rd.failed(file, "has options of a package that are not read")
			}
		}
		if !rd.plainPackage(text) {
			rd.failed(file, "names what lies in the project, with code of its own")
		}
	}
	return files
}
