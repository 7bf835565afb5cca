// Package setup installs permd in the configuration of other programs and removes
// it again: as a hook of agent harnesses, and in front of the agents of ACP clients.
//
// A configPlace is one file with an editor for its format. A change is planned,
// shown as a diff, and made when the user confirms it. A backup of the file is kept,
// so that uninstalling restores the same bytes. Each harness has a source file named
// after it; ACP clients and agents have a table each.
package setup

import (
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Installer installs permd in the configuration of other programs, and removes it.
type Installer struct {
	cli.Streams
	Root string // prefix of /etc and /var, from --root
}

// Options are the options of the install and uninstall commands.
type Options struct {
	Yes    bool // make the change without asking
	DryRun bool // show the change without making it

	// For installing:
	Program   string // path of the permd to run; "" means this one
	NoService bool   // do not install systemd units
	// Wait is how long hooks wait for a person, 0 for not at all. For hooks only.
	Wait time.Duration

	// Managed changes the harness's managed settings. For hooks only.
	Managed bool
	// System has managed hooks ask the machine's daemon alone.
	System bool
}
