package main

import (
	"go/ast"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parserName is what functions are called that read text or bytes.
var parserName = regexp.MustCompile(`^(parse|read|decode|unmarshal|scan|Parse|Read|Decode|Unmarshal|Scan)([A-Z]|$)`)

// isText are the types of parameters that hold text or bytes of somebody else.
var isText = map[string]bool{
	"string": true, "[]byte": true, "Value": true, "strictjson.Value": true, "strictjson.Object": true, "Object": true, "jsontext.Value": true,
	"io.Reader": true, "*bufio.Reader": true, "[]string": true, "map[string][]byte": true, "*yaml.Node": true, "*effects.Word": true, "[]effects.Word": true,
	"ast.Value": true, "*sql.Rows": true, "*sql.DB": true, "File": true,
}

// parsers are the readers of bytes of somebody else with their fuzz targets: by function,
// by package and type, or by package. The rest have a reason why none is needed.
var parsers = map[string]string{
	"cmd/permd/internal/arguments": "cmd/permd/internal/arguments.FuzzRead",
	"cmd/permd/internal/choices":   "cmd/permd/internal/choices.FuzzImport",
	"cmd/permd/internal/replay":    "cmd/permd/internal/replay.FuzzTranscripts",
	"cmd/permd/internal/decide":    "cmd/permd/internal/decide.FuzzParse",
	"cmd/permd/internal/notify":    "cmd/permd/internal/notify.FuzzStream",
	"cmd/permd/internal/heads":     "cmd/permd/internal/heads.FuzzRead",
	"cmd/permd/internal/shadow":    "cmd/permd/internal/shadow.FuzzParse",
	"cmd/permd/internal/setup":     "cmd/permd/internal/setup.FuzzHooks cmd/permd/internal/setup.FuzzACPEntries",
	"decisions/effects/display":    "decisions/effects/display.FuzzDisplay",
	"decisions/effects/goals":      "decisions/effects/goals.FuzzGoals",
	"decisions/effects/languages":  "decisions/effects/languages.FuzzPrograms decisions/effects/languages.FuzzGitWords decisions/effects/languages.FuzzColumns",
	"decisions/effects/mounts":     "decisions/effects/mounts.FuzzParse",
	"decisions/effects/paths":      "decisions/effects/paths.FuzzFile decisions/effects/paths.FuzzAddress decisions/effects/paths.FuzzIgnore decisions/effects/paths.FuzzGlob decisions/effects/paths.FuzzPercentDecode decisions/effects/paths.FuzzGitLine decisions/effects/git.FuzzIgnoreLines",
	"decisions/effects/plainshell": "decisions/effects/plainshell.FuzzRead",
	"decisions/effects/programs":   "decisions/effects/programs.FuzzTable decisions/effects/programs.FuzzLayer decisions/effects/programs.FuzzReader decisions/effects/programs.FuzzCompact",
	"decisions/effects/settings":   "decisions/effects/settings.FuzzSettings decisions/effects/settings.FuzzHidden decisions/effects/settings.FuzzTwoReaders decisions/effects/settings.FuzzGitIndex",
	"decisions/effects/shell":      "decisions/effects/shell.FuzzShell decisions/effects/shell.FuzzPlainShell",
	"decisions/effects/tools":      "decisions/effects/tools.FuzzTool decisions/effects/tools.FuzzProfiles decisions/effects/tools.FuzzLayerProfiles decisions/effects/tools.FuzzVersion",
	"decisions/journal/windows":    "decisions/journal/windows.FuzzTexts",
	"decisions/journal/names":      "decisions/journal/names.FuzzRow",
	"decisions/journal/body":       "decisions/journal.FuzzOwnValues decisions/journal.FuzzSplit",
	"decisions/journal":            "decisions/journal.FuzzFrames decisions/journal.FuzzDecode decisions/journal.FuzzOwnValues decisions/journal.FuzzSplit",
	"decisions/pattern":            "decisions/pattern.FuzzParse",
	"decisions/targets":            "decisions/targets.FuzzRecipes",
	"internal/jsonedit":            "internal/jsonedit.FuzzEdit",
	"internal/lexpath":             "internal/lexpath.FuzzIn internal/lexpath.FuzzFold",
	"internal/strictjson":          "internal/strictjson.FuzzCheck internal/strictjson.FuzzFastCheck internal/strictjson.FuzzSplit internal/strictjson.FuzzParseString internal/strictjson.FuzzFind internal/strictjson.FuzzShorten",
	"internal/toolschema":          "internal/toolschema.FuzzCheck",
	"policy/bundles":               "policy/bundles.FuzzRead",
	"policy/decisionlogs":          "policy/decisionlogs.FuzzConfig",
	"policy/decisionlogs/masking":  "policy/decisionlogs/masking.FuzzMask",
	"policy/management":            "policy/management.FuzzParse policy/management.FuzzDiscovered",
	"policy/imports":               "policy/imports.FuzzTranslate",
	"policy/list":                  "policy/list.FuzzParse policy/list.FuzzNamed",
	"policy/settings":              "policy/settings.FuzzParse",
	"policy/trust":                 "policy/trust.FuzzFile",
	"remember":                     "remember.FuzzRow remember.FuzzExpiry",
	"remember/pause":               "remember/pause.FuzzFile",
	"remember/pending":             "remember/pending.FuzzRevocations",
	"socket":                       "socket.FuzzDecode socket.FuzzLines",
	"socket/aap":                   "socket/aap.FuzzPermissions socket/aap.FuzzSSE",
	"socket/aap/gateway":           "socket/aap/gateway.FuzzTurn socket/aap/gateway.FuzzBody",
	"socket/acp":                   "socket/acp.FuzzRequest socket/acp.FuzzUpdate",
	"socket/client":                "socket/client.FuzzDeliver socket/client.FuzzReadLine",
	"socket/gatehttp":              "- a token and a credential are one text, which is compared or passed on whole",
	"socket/hook":                  "socket/hook.FuzzRead",
	"socket/httpapi":               "socket/httpapi.FuzzInput",
	"socket/mcp":                   "socket/mcp.FuzzHidden socket/mcp.FuzzOutline socket/mcp.FuzzEvents socket/mcp.FuzzUpstreamAnswer",
	"socket/native":                "socket/native.FuzzMethods",
	"socket/otc":                   "socket/otc.FuzzCall",
	"socket/otc/gateway":           "socket/otc/gateway.FuzzCall socket/otc/gateway.FuzzAnswer",
	"socket/proxy":                 "socket/proxy.FuzzLines socket/proxy.FuzzEnvelopes",
	"socket/rap":                   "socket/rap.FuzzInvocation",
	"socket/rap/gateway":           "socket/rap/gateway.FuzzInvocation socket/rap/gateway.FuzzConfig",

	"cmd/permd/internal/bundlecommands.readFile":  "- a bounded read; policy/bundles.FuzzRead has the bytes",
	"cmd/permd/internal/orgbundle.readConfig":     "- a bounded read; policy/management.FuzzParse has the bytes",
	"cmd/permd/internal/orgbundle.readID":         "- one UUID in permd's own file, bounded, which its library parses",
	"cmd/permd.app.readImport":                    "- opens a file; cmd/permd/internal/choices.FuzzImport has the bytes",
	"cmd/permd/internal/gateways.readSecret":      "- one word of a file that only its person can read, which goes into a header",
	"cmd/permd/internal/cli.parseDuration":        "- a flag of the person's own command",
	"cmd/permd/internal/hookproc.ParseWait":       "- a command line that permd hook install writes; the file is read by setup.FuzzHooks",
	"cmd/permd/internal/daemon.readWitness":       "- lines of permd's own file, bounded, which are only compared",
	"cmd/permd/internal/engine.readHosts":         "- the system's own hosts(5), which only root writes; TestReadHosts",
	"cmd/permd/internal/hookproc.readHook":        "- a bounded read; socket/hook.FuzzRead has the bytes",
	"cmd/permd/internal/account.ReadSettingsFile": "- opens a file; policy/settings.FuzzParse has the bytes",
	"cmd/permd/internal/account.readSettingsOf":   "- opens a file; policy/settings.FuzzParse has the bytes",
	"cmd/permd/internal/userrules.read":           "- opens files of the person's own command; the daemon has their names checked, and package policy reads them",
	"cmd/permd/internal/importing":                "- opens files; policy/imports.FuzzTranslate has the bytes",
	"cmd/permd/internal/records.readHeads":        "- opens a file; cmd/permd/internal/heads.FuzzRead has the bytes",
	"cmd/permd/internal/service.ReadUnit":         "- compares a file with what permd writes",
	"decisions/lookups.Recorder.ReadFile":         "- returns bytes and reads nothing in them",
	"decisions/effects.ParseTag":                  "- compares a name with a list",
	"decisions/effects/fsfake.FS.ReadFile":        "- only in tests",
	"decisions/effects/git.Run.read":              "- a path, which package paths resolves",
	"decisions/effects/git.repository.read":       "decisions/effects/git.FuzzObjects",
	"internal/protocoldoc":                        "- only in tests, of documents here",
	"internal/quickio.file.read":                  "- moves bytes and reads nothing in them",
	"internal/quickio.reader.Read":                "- moves bytes and reads nothing in them",
	"internal/sqlitedb.readSchema":                "- compares what SQLite says with what is expected",
	"internal/xdg":                                "- files of root alone",
	"cmd/permd/internal/systemwide.parseRange":    "- a file of root alone",
	"policy.Store.readFolder":                     "- opens files; those of package list, settings and OPA read them",
	"policy/rules.element.readCovers":             "- values of rules that were evaluated",
	"policy/rules.readElement":                    "- values of rules that were evaluated",
	"policy/input.ParseSchema":                    "- a file that is embedded",
	"policy/source":                               "- opens files, with their owners and modes",
	"socket/admin.decode":                         "- socket.ReadParams, into the structs of people's own commands",
}

// findParsers returns the functions that are named as one that reads, and are given text
// or bytes: PACKAGE.FUNCTION, or PACKAGE.TYPE.METHOD.
func findParsers(t *testing.T, root string) (names []string, packages map[string]bool) {
	t.Helper()
	packages = map[string]bool{}
	ours := func(dir, name string, _ []byte) bool {
		first, _, _ := strings.Cut(dir, "/")
		return !strings.HasSuffix(name, "_test.go") && first != "bench" && first != "docs" && first != "examples" && !strings.HasSuffix(dir, "test")
	}
	err := eachFile(root, ours, func(dir string, file *ast.File) {
		packages[dir] = true
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !parserName.MatchString(f.Name.Name) || !slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool { return isText[types.ExprString(p.Type)] }) {
				continue
			}
			name := dir + "." + f.Name.Name
			if f.Recv != nil {
				name = dir + "." + strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
			}
			names = append(names, name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, packages
}

// TestParsersHaveTargets: every function that reads text or bytes has a fuzz target, by
// itself or with its package, or a reason why not. The table names only what there is.
func TestParsersHaveTargets(t *testing.T) {
	names, packages := findParsers(t, "../..")
	if len(names) < 100 {
		t.Fatalf("only %d parsers are found", len(names))
	}
	used := map[string]bool{}
	for _, name := range names {
		pkg, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
		pkg = name[:strings.LastIndexByte(name, '/')+1] + pkg
		switch {
		case parsers[name] != "":
			used[name] = true
		case parsers[pkg] != "":
			used[pkg] = true
		default:
			t.Errorf("%s reads what somebody else wrote: give it a fuzz target and name that in the table of parsers", name)
		}
	}
	targets, err := findTargets("../..")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(parsers)) {
		if !used[key] && !packages[key] {
			t.Errorf("there is no %s", key)
		}
		if strings.HasPrefix(parsers[key], "- ") {
			continue
		}
		for name := range strings.FieldsSeq(parsers[key]) {
			named[name] = true
			if !slices.ContainsFunc(targets, func(o target) bool { return o.String() == name }) {
				t.Errorf("%s: there is no target %s", key, name)
			}
		}
	}
	for _, target := range targets {
		if !named[target.String()] {
			t.Errorf("%s is in no line of the table of parsers", target)
		}
	}
}
