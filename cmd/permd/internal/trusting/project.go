package trusting

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
	"github.com/permd/permd/socket/admin"
)

// project is the rules of a project, as they are shown.
type project struct {
	Root   string `json:"root"`
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Allows are the entries that allow what they speak of once the list is trusted, and Asks those
	// with which it asks or is denied anyway. Untried are further ones of which that is not known,
	// since there are too many, and Ignored those that a project may not have. Stricter is the number
	// of those that ask or deny, which are in force anyway.
	Allows   []line `json:"allows"`
	Asks     []line `json:"asks,omitzero"`
	Untried  []line `json:"untried,omitzero"`
	Ignored  []line `json:"ignored,omitzero"`
	Stricter int    `json:"stricter"`
	// Above are the lists of the folders above, which apply too. What they allow does not count.
	Above []string `json:"above,omitzero"`
	// State is trusted, approved, unapproved, changed, ended, forbidden, or untrusted.
	State string         `json:"state"`
	Since *admin.Trusted `json:"trusted,omitzero"` // what is trusted, nil for nothing
	Diff  string         `json:"diff,omitzero"`    // from that list to the present one

	text []byte
}

// line is an entry of a list.
type line struct {
	Kind string `json:"kind"`
	Line string `json:"line"`
	At   int    `json:"at"` // its number in the file, from 1
	// Call is the call that was tried, nil for none, with its verdict and the reason.
	// Example is set if the entry speaks of more calls.
	Call    *admin.TriedCall  `json:"call,omitzero"`
	Example bool              `json:"example,omitzero"`
	Verdict decisions.Verdict `json:"verdict,omitzero"`
	Reason  string            `json:"reason,omitzero"`
}

// rootOf returns the root of the project that a folder belongs to.
func rootOf(dir string) (string, error) {
	dir, err := absolute(dir)
	if err != nil {
		return "", err
	}
	home := (&account.Users{}).Lookup(uint32(os.Geteuid())).Home
	root := paths.FindProject(paths.OSFS{}, dir, home)
	if root == "" {
		return "", cli.Failf(cli.ExitError, "name a folder of a project", "%s is no project: a home or a system folder never is", dir)
	}
	return root, nil
}

// ownList returns the list in the root of a project, nil if there is none.
func ownList(root string) (*source.File, error) {
	t, err := source.Read(filepath.Join(root, ".permd"), source.Access{Writable: true, ListsOnly: true, NoLink: true})
	if err != nil {
		return nil, err
	}
	if len(t.Files) == 0 {
		return nil, nil
	}
	return &t.Files[0], nil
}

// load reads the rules of a project.
func load(root string) (*project, error) {
	own, err := ownList(root)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the rules of %s: %w", root, err)
	case own == nil:
		return nil, cli.Failf(cli.ExitError, "permd init --project writes one", "%s has no list of rules, .permd/%s", root, source.ListName)
	case own.Link:
		return nil, cli.Failf(cli.ExitError, "put the file itself there", "%s is a link, which is not trusted", own.Name)
	case own.Owner != 0 && own.Owner != uint32(os.Geteuid()):
		return nil, cli.Failf(cli.ExitError, "make a copy of the project that is yours", "%s belongs to user %d", own.Name, own.Owner)
	case len(own.Data) > trust.MaxText:
		return nil, cli.Failf(cli.ExitError, "write fewer rules", "%s has more than %d KiB", own.Name, trust.MaxText>>10)
	}
	entries, err := list.Parse(own.Name, own.Data)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	p := &project{Root: root, File: own.Name, Digest: trust.Digest(own.Data), Allows: []line{}, State: "untrusted", text: own.Data}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Set != decisions.SetAllow:
			p.Stricter++
		case !e.ProjectMayAllow():
			p.Ignored = append(p.Ignored, line{Kind: string(e.Kind), Line: e.Pattern.String(), At: e.Line})
		}
	}
	dirs, err := source.ProjectDirs(root)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs[1:] {
		if _, err := os.Lstat(filepath.Join(dir, source.ListName)); err == nil {
			p.Above = append(p.Above, filepath.Join(dir, source.ListName))
		}
	}
	return p, nil
}

// try adds what the entries would allow.
func (p *project) try(tried []admin.TriedEntry) {
	for _, e := range tried {
		l := line{string(e.Kind), e.Line, e.At, e.Call, e.Example, e.Verdict, e.Reason}
		switch {
		case e.Verdict == decisions.Allow:
			p.Allows = append(p.Allows, l)
		case e.Call == nil:
			p.Untried = append(p.Untried, l)
		default:
			p.Asks = append(p.Asks, l)
		}
	}
}

// compare adds what is known of the trust in a project.
func (p *project) compare(known *admin.TrustedList, now time.Time) {
	for i := range known.Trusted {
		if t := &known.Trusted[i]; t.Root == p.Root {
			p.State = stateOf(known, t, now)
			if t.Digest != p.Digest {
				_, text, _ := bytes.Cut(diff.Diff("trusted", t.Text, "now", p.text), []byte("\n")) // the first line names a command
				p.Diff = string(text)
			}
			shown := *t
			shown.Text = nil
			p.Since = &shown
		}
	}
	switch {
	case known.Counts == settings.TrustForbid:
		p.State = "forbidden"
	case p.State != "trusted" && approves(known, p.Root, p.Digest):
		p.State = "approved"
	case known.Counts == settings.TrustApproved:
		p.State = "unapproved"
	}
}

// approves reports whether the organisation trusts a list with a digest in a project.
func approves(known *admin.TrustedList, root, digest string) bool {
	return known.Counts != settings.TrustForbid && slices.ContainsFunc(known.Approved, func(a admin.ApprovedList) bool {
		return a.Digest == digest && (a.Root == "" || lexpath.In(a.Root, root))
	})
}

// stateText says what a state means.
var stateText = map[string]string{
	"trusted":    "you trust these rules",
	"approved":   "the organisation trusts these rules",
	"unapproved": "only lists that the organisation approves by their digest are trusted, and this is none, so they allow nothing",
	"changed":    "the rules changed since you trusted them, so they allow nothing",
	"ended":      "the time that you trusted them for is over, so they allow nothing",
	"forbidden":  "the organisation lets nobody trust a project, so they allow nothing",
	"untrusted":  "you do not trust these rules, so they allow nothing",
}

// render prints a project.
func (p *project) render(w io.Writer) {
	fmt.Fprintf(w, "project  %s\nlist     %s\ndigest   %s\n", cli.Visible(p.Root), cli.Visible(p.File), p.Digest)
	state := stateText[p.State]
	if p.State == "trusted" {
		state += " until " + p.Since.Until.Local().Format(time.DateOnly)
	}
	fmt.Fprintf(w, "state    %s\n", state)
	for _, above := range p.Above {
		fmt.Fprintf(w, "above    %s, whose allows never count here\n", cli.Visible(above))
	}
	fmt.Fprintf(w, "\nTrusted, they allow in this project, besides %s that %s in force anyway:\n",
		cli.Plural(p.Stricter, "entry"), cli.Either(p.Stricter == 1, "is", "are"))
	renderLines(w, p.Allows)
	if len(p.Asks) > 0 {
		fmt.Fprintln(w, "\nThese ask or are denied anyway:")
		renderLines(w, p.Asks)
	}
	if len(p.Untried) > 0 {
		fmt.Fprintln(w, "\nThese were not tried, since there are so many entries:")
		renderLines(w, p.Untried)
	}
	fmt.Fprintln(w, "  never what is guarded (secrets, start-up files, .git, agents' settings), though it is named here")
	if len(p.Ignored) > 0 {
		fmt.Fprintln(w, "\nNot even then, since a project may not allow it:")
		renderLines(w, p.Ignored)
	}
	if p.Diff != "" {
		fmt.Fprintf(w, "\nChanged since you trusted them:\n%s", cli.Visible(p.Diff))
	}
	fmt.Fprintln(w)
}

func renderLines(w io.Writer, lines []line) {
	if len(lines) == 0 {
		fmt.Fprintln(w, "  nothing")
	}
	for _, l := range lines {
		fmt.Fprintf(w, "  %-8s %s%s\n", l.Kind, cli.Visible(l.Line), l.example())
		if l.Call != nil && l.Verdict != decisions.Allow {
			fmt.Fprintf(w, "           %s: %s\n", cli.Either(l.Verdict == decisions.Deny, "denied", "asks"), display.Display(l.Reason))
		}
	}
}

// example says which call was tried for a line that speaks of several.
func (l *line) example() string {
	if l.Call == nil || !l.Example {
		return ""
	}
	return ", such as " + cli.Visible(l.Call.Text)
}
