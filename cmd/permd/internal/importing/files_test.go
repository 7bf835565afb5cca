package importing

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/policy/imports"
)

// TestPlacesAreGuarded: what an import takes for a person's rules is a file that needs
// an exact answer before it is written, or an agent could write its own rules there.
func TestPlacesAreGuarded(t *testing.T) {
	const home, project = "/home/dev", "/home/dev/proj"
	r := paths.NewResolver(paths.Environment{FS: paths.OSFS{}}, &effects.Call{Cwd: project, User: effects.User{Home: home}})
	for _, tool := range imports.Tools {
		for _, goos := range []string{"linux", "darwin"} {
			persons, projects := placesOn(goos, tool, home, ""), placesOn(goos, tool, "", project)
			if len(persons) == 0 || len(projects) == 0 {
				t.Errorf("%s, %s: the person's files are %q, a project's %q", tool, goos, persons, projects)
			}
			for _, place := range append(persons, projects...) {
				name := strings.ReplaceAll(place, "*", "x")
				e := effects.Effect{Kind: effects.KindWrite, Tags: r.Guard(name)}
				if !e.Guarded().Has(effects.AgentConfig) {
					t.Errorf("%s, %s: writing %s has the tags %v: name it beside effects.AgentConfig in paths/tagtable.go", tool, goos, place, e.Tags)
				}
			}
		}
	}
}
