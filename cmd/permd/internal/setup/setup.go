// Package setup puts permd into the configuration of programs that ask for
// permission, and takes it out again: into the hooks of agent harnesses, and in
// front of the agents of ACP clients.
//
// A place is one file with an editor that knows its form. A change is planned
// first, shown as a difference, and made when the person says yes; what the file
// held before is kept, so that the same bytes can be given back. A harness has a
// file named after it; ACP clients and agents have a table each.
package setup

import (
	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Installer changes the configurations of other programs so that they ask permd,
// and back.
type Installer struct {
	cli.Streams
	Root string // relocates /etc and /var
}

// Options are what a person can say about a change.
type Options struct {
	Yes    bool // do not ask before the change is made
	DryRun bool // show the change and make none

	// Of installing:
	Program   string // the permd that is run; "" is this one
	NoService bool   // leave the units of the daemon alone

	// Managed, of hooks: the organisation's settings of the harness.
	Managed bool
}
