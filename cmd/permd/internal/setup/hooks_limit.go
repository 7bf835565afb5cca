package setup

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/hookproc"
)

// waitingEditor is a configEditor of hooks, which may wait for a person.
type waitingEditor interface {
	// limits returns the time limits of permd's entries that wait, in seconds.
	limits(text []byte) ([]int, error)
}

// errLimits is the error for a hook that waits and whose time limit is not known.
var errLimits = errors.New("a hook that waits has no time limit that permd can read")

// checkWait returns an error if hooks of the harness cannot wait for so long.
func checkWait(name string, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	if err := hookproc.CheckWait(wait); err != nil {
		return cli.Failf(cli.ExitUsage, "such as --wait 5m", "--wait %s: %w", wait, err)
	}
	i := slices.IndexFunc(harnesses, func(h harness) bool { return h.name == name })
	if i >= 0 && harnesses[i].timeout != 0 && limitOf(wait) > harnesses[i].timeout {
		return cli.Failf(cli.ExitUsage, "use --wait "+(time.Duration(harnesses[i].timeout)*time.Second-hookproc.Margin).String(),
			"%s lets a hook run for %d seconds, whatever its settings say", name, harnesses[i].timeout)
	}
	return nil
}

// HookLimit returns how long a harness lets permd's hooks run that wait for a person, by the settings
// of the person and of the organisation. The shortest time counts, since a harness runs the hooks of
// all of them.
func HookLimit(root, harness string) (time.Duration, error) {
	home, err := account.Home()
	if err != nil {
		return 0, err
	}
	var all []int
	for _, p := range hookPlaces(root, harness, home, hookOptions{}) {
		info, err := os.Stat(p.path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfigFile {
			continue // permd hook install does not write such files
		}
		text, err := os.ReadFile(p.path)
		if err != nil || !strings.Contains(string(text), " hook "+harness) {
			continue
		}
		edit, ok := p.edit.(waitingEditor)
		if !ok {
			return 0, errLimits
		}
		limits, err := edit.limits(text)
		if err != nil {
			return 0, isInFile(&p, err)
		}
		all = append(all, limits...)
	}
	if len(all) == 0 {
		return 0, cli.Failf(cli.ExitError, "permd hook install "+harness+" --wait 5m", "no settings of %s have a hook that waits", harness)
	}
	return time.Duration(slices.Min(all)) * time.Second, nil
}
