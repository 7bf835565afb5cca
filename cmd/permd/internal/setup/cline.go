package setup

import (
	"fmt"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// clineLimit is how long Cline lets a hook run, in seconds.
const clineLimit = 30

const clineNote = "turn on Enable Hooks in Cline's settings; Cline goes on with a call when the hook takes longer than 30 seconds"

func clinePlaces(_, home string, o hookOptions) []configPlace {
	folder := filepath.Join(home, "Documents", "Cline", "Hooks")
	return []configPlace{{
		name: "cline", mode: 0o700, edit: &ownFile{harness: "cline", options: o, text: clineFile}, notes: []string{clineNote}, path: filepath.Join(folder, "PreToolUse"),
		after: &configPlace{name: "cline-after", mode: 0o700, edit: &ownFile{harness: "cline", text: clineAfterFile}, path: filepath.Join(folder, "PostToolUse")},
	}}
}

// clineAfterFile returns the script that Cline runs after a tool. It decides nothing, and Cline
// wants an answer from every hook.
func clineAfterFile(program string, _ hookOptions) []byte {
	return fmt.Appendf(nil, `#!/bin/sh
# %[1]s%[2]s%[3]s
%[2]s hook cline --after || printf '%%s\n' '{"cancel":false}'
`, programPrefix, cli.Quote(program), programSuffix)
}

// clineFile returns the script that Cline runs before a tool. Cline continues if its
// hook fails, so the script prints a denial whenever permd fails.
func clineFile(program string, o hookOptions) []byte {
	return fmt.Appendf(nil, `#!/bin/sh
# %[1]s%[2]s%[3]s
answer=$(%[2]s hook cline%[4]s) && [ -n "$answer" ] && printf '%%s\n' "$answer" && exit 0
printf '%%s\n' '{"cancel":true,"errorMessage":"permd: permd hook cline did not answer","contextModification":""}'
`, programPrefix, cli.Quote(program), programSuffix, o.words())
}
