package doctor

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/jsonedit"
)

// approvals are what a harness that permd import does not read has stored when its person did
// not want to be asked again: how many, by file.
type approvals struct {
	harness string
	file    string // below the home folder, or the project's if it is below that
	project bool
	count   func(root jsonedit.Node) int
}

// allApprovals have the files of the harnesses' documentation. What Cline's extension for VS
// Code and Cursor's editor keep in a database is not looked at.
var allApprovals = []approvals{
	{"cursor", ".cursor/cli-config.json", false, cursorRules},
	{"cursor", ".cursor/cli.json", true, cursorRules},
	{"cursor", ".cursor/permissions.json", false, cursorLists},
	{"cursor", ".cursor/permissions.json", true, cursorLists},
	{"copilot", ".copilot/permissions-config.json", false, copilotApprovals},
	{"cline", ".cline/data/globalState.json", false, clineActions},
	{"cline", ".cline/data/settings/cline_mcp_settings.json", false, clineServers},
}

func cursorRules(root jsonedit.Node) int {
	return texts(root.Member("permissions", "allow")) + texts(root.Member("permissions", "deny"))
}

func cursorLists(root jsonedit.Node) int {
	return texts(root.Member("terminalAllowlist")) + texts(root.Member("mcpAllowlist"))
}

// copilotApprovals counts each command of an approval of commands.
func copilotApprovals(root jsonedit.Node) (n int) {
	for place := range children(root.Member("locations")) {
		for a := range children(place.Member("tool_approvals")) {
			n += max(1, texts(a.Member("commandIdentifiers")))
		}
		n += texts(place.Member("allowed_directories"))
	}
	return n
}

func clineActions(root jsonedit.Node) (n int) {
	settings := root.Member("autoApprovalSettings")
	if enabled := settings.Member("enabled"); enabled.Exists() && enabled.Kind() == 'f' {
		return 0
	}
	for action := range children(settings.Member("actions")) {
		if action.Kind() == 't' {
			n++
		}
	}
	return n
}

func clineServers(root jsonedit.Node) (n int) {
	for server := range children(root.Member("mcpServers")) {
		n += texts(server.Member("autoApprove"))
	}
	return n
}

// children goes through the members of an object, or the items of a list.
func children(n jsonedit.Node) func(func(jsonedit.Node) bool) {
	return func(yield func(jsonedit.Node) bool) {
		if !n.Exists() || n.Kind() != '{' && n.Kind() != '[' {
			return
		}
		for i := range n.Len() {
			if !yield(n.At(i)) {
				return
			}
		}
	}
}

// texts counts the texts in a list.
func texts(list jsonedit.Node) (n int) {
	for item := range children(list) {
		if item.Kind() == '"' {
			n++
		}
	}
	return n
}

// maxApprovals bounds a file of approvals, in bytes.
const maxApprovals = 4 << 20

// harnessApprovals shows what harnesses remember by themselves that permd import does not read.
func (x *examination) harnessApprovals() {
	home, err := account.Home()
	if err != nil {
		return // the check of folders reports it
	}
	project := ""
	if cwd, err := os.Getwd(); err == nil {
		project = paths.FindProject(paths.OSFS{}, cwd, home)
	}
	for _, a := range allApprovals {
		root := home
		if a.project {
			root = project
		}
		if root == "" || a.project && root == home {
			continue
		}
		name := filepath.Join(root, a.file)
		if rest, ok := strings.CutPrefix(a.file, ".copilot/"); ok && filepath.IsAbs(os.Getenv("COPILOT_HOME")) {
			name = filepath.Join(os.Getenv("COPILOT_HOME"), rest)
		}
		if n := countApprovals(name, a.count); n > 0 {
			x.OK("harness", "%s: %s of its own in %s, which permd does not follow; docs/import.md says what they would be here", a.harness, cli.Plural(n, "approval"), name)
		}
	}
}

// countApprovals returns 0 for a file that cannot be read: it is the harness's to say what is
// wrong with it.
func countApprovals(name string, count func(jsonedit.Node) int) int {
	info, err := os.Stat(name) // a fifo would be waited for
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxApprovals+1))
	if err != nil || len(data) > maxApprovals {
		return 0
	}
	text, err := jsonedit.Parse(data, jsonedit.Relaxed)
	if err != nil {
		return 0
	}
	return count(text.Root())
}
