package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/heads"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// verified is what permd log verify prints with --json.
type verified struct {
	Path string `json:"path"`
	*verify.Result
	// Compared are the heads that the chain was compared with, and NotRead why one that
	// permd keeps could not be read.
	Compared []comparison `json:"compared"`
	NotRead  string       `json:"notRead,omitzero"`
}

// comparison says where heads come from.
type comparison struct {
	With   string    `json:"with"`
	Heads  int       `json:"heads"`
	Newest time.Time `json:"newest,omitzero"` // zero if that is not known
}

// VerifyOptions lists heads to compare the journal with, in addition to those that permd keeps.
type VerifyOptions struct {
	// Head is the hash of a head that the chain must have, after its number and a colon if
	// that is known, "" for none.
	Head string
	// Heads is the name of a file with heads of the system's journal, "-" for standard
	// input, "" for none.
	Heads string
	// System selects the journal of the machine's daemon.
	System bool
}

// Verify verifies the journal's chain of hashes and prints what was found.
func Verify(ctx context.Context, s *cli.Streams, root string, with VerifyOptions) error {
	dirs, err := with.dirs(root)
	if err != nil {
		return err
	}
	v := &verified{Path: filepath.Join(dirs.Data, "decisions.db"), Compared: []comparison{}}
	o := verify.Options{Hash: with.Head}
	if with.Head != "" {
		v.Compared = append(v.Compared, comparison{With: "--since-head", Heads: 1})
	}
	if err := v.known(ctx, s, dirs, with.Heads, &o); err != nil {
		return err
	}
	r, err := journal.OpenReadOnly(journal.Options{Path: v.Path})
	if errors.Is(err, sqlitedb.ErrOlder) {
		return cli.Failf(cli.ExitError, "start the daemon with: permd serve", "the journal is of an earlier permd, and has no chain of hashes until the daemon has opened it")
	}
	if err != nil {
		return fmt.Errorf("reading the journal: %w", DatabaseFailure(err))
	}
	defer r.Close()
	p := cli.NewProgress(s.Err, "verifying")
	o.Progress = p.Set
	v.Result, err = r.Verify(ctx, o)
	p.Close()
	if errors.Is(err, verify.ErrHash) {
		return cli.Failf(cli.ExitUsage, "permd log verify and permd status print them", "--since-head: a head has 64 hexadecimal digits, after its number and a colon if that is known, not %q", with.Head)
	}
	if err != nil {
		return err
	}
	note := LastVerified{time.Now().UTC(), v.Decisions, int64(len(v.Faults)) + v.More, v.Head.Hash, len(v.Compared)}
	if err := note.keep(dirs); err != nil && !s.JSON {
		fmt.Fprintf(s.Err, "permd: permd status will not show this: %v\n", err)
	}
	return v.print(s)
}

// dirs returns the folders of the daemon whose journal is meant.
func (o *VerifyOptions) dirs(root string) (xdg.Dirs, error) {
	if !o.System {
		return account.Dirs(root)
	}
	dirs, err := xdg.Find(xdg.FromOS(), xdg.Options{Root: root, System: true})
	if err != nil {
		return dirs, cli.Failf(cli.ExitUsage, "leave --root out", "finding the folders of the machine's daemon: %v", err)
	}
	return dirs, nil
}

// known adds the heads that are known, before the journal is read: those of the file, the
// one that the state folder has, and the daemon's.
func (v *verified) known(ctx context.Context, s *cli.Streams, dirs xdg.Dirs, file string, o *verify.Options) error {
	info, err := os.Stat(v.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Failf(cli.ExitError, "start the daemon with: permd serve", "there is no journal yet at %s", v.Path)
	}
	if dirs.System && errors.Is(err, fs.ErrPermission) {
		return cli.Failf(cli.ExitError, "run it as root", "looking for the journal of the machine's daemon: %v", err)
	}
	if err != nil {
		return fmt.Errorf("looking for the journal: %w", err)
	}
	add := func(with string, list []chain.Head) {
		if n := len(list); n > 0 {
			o.Known = append(o.Known, list...)
			v.Compared = append(v.Compared, comparison{with, n, list[n-1].Time})
		}
	}
	uid := os.Getuid() // of the daemon
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		uid = int(st.Uid)
	}
	if file != "" {
		list, err := readHeads(s.In, file, v.Path, uid)
		if err != nil {
			return cli.Failf(cli.ExitError, "", "--heads: %v", err)
		}
		if len(list) == 0 {
			return cli.Failf(cli.ExitError, "journalctl -o json -t permd prints them, if the daemon runs where systemd does", "--heads: there is no head of %s that uid %d has sent", v.Path, uid)
		}
		add("the system's journal", list)
	}
	list, err := heads.Kept(heads.File(dirs), v.Path, uint32(uid))
	if err != nil {
		v.NotRead = err.Error()
	}
	add("the state folder", list)
	c, err := client.Connect(ctx, client.Options{Admin: true, Machine: dirs.System})
	if err != nil {
		return nil //nolint:nilerr // no daemon runs, or it cannot be asked: its head is not known
	}
	defer c.Close()
	var st struct {
		Journal journal.Status `json:"journal"`
	}
	if err := c.Call(ctx, admin.MethodStatus, struct{}{}, &st); err == nil && st.Journal.Head.Hash != "" {
		add("the running daemon", []chain.Head{st.Journal.Head})
	}
	return nil
}

// readHeads reads heads from a file, or from in if its name is "-".
func readHeads(in io.Reader, file, path string, uid int) ([]chain.Head, error) {
	if file == "-" {
		return heads.Read(in, path, uid)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return heads.Read(f, path, uid)
}

func (v *verified) print(s *cli.Streams) error {
	n := int64(len(v.Faults)) + v.More
	if s.JSON {
		if err := cli.PrintJSON(s.Out, v); err != nil {
			return err
		}
	} else if err := v.render(s); err != nil {
		return err
	}
	switch {
	case n > 0 && s.JSON:
		return &cli.Failure{Code: cli.ExitError} // the output says it
	case n > 0:
		return cli.Failf(cli.ExitError, "something else than permd changed it, or a power cut took its end; keep a copy of "+v.Path, "%s found", cli.Plural(int(n), "fault"))
	}
	return nil
}

// render prints the result for people.
func (v *verified) render(s *cli.Streams) error {
	out := cli.Folded(s.Out, 2)
	since := ""
	if !v.Since.IsZero() {
		since = ", since " + v.Since.Local().Format(time.DateTime)
	}
	fmt.Fprintf(out, "verified %s and %d answers and reports%s\n", cli.Plural(int(v.Decisions), "decision"), v.Added, since)
	fmt.Fprintf(out, "head     %s at decision %d\n", v.Head.Hash, v.Head.Seq)
	for _, c := range v.Compared {
		newest := ""
		if !c.Newest.IsZero() {
			newest = ", the newest of " + c.Newest.Local().Format(time.DateTime)
		}
		fmt.Fprintf(out, "compared with %s of %s%s\n", cli.Plural(c.Heads, "head"), c.With, newest)
	}
	if len(v.Compared) == 0 {
		fmt.Fprintln(out, "compared with no head that is kept elsewhere, so a chain that was cut off or made anew is not found")
	}
	if v.NotRead != "" {
		fmt.Fprintf(out, "not compared with the head of the state folder: %s\n", display.Display(v.NotRead))
	}
	if v.Heads.Removed > 0 {
		fmt.Fprintf(out, "  %d of them belong to decisions that were removed by the journal's limits; nothing is left to compare them with\n", v.Heads.Removed)
	}
	if v.Heads.Other > 0 {
		fmt.Fprintf(out, "  %d of them are of another journal that was at this place\n", v.Heads.Other)
	}
	if v.Unchained > 0 {
		fmt.Fprintf(out, "%s not verified: they were stored before there was a chain\n", cli.Plural(int(v.Unchained), "decision"))
	}
	if v.Waiting > 0 {
		fmt.Fprintf(out, "%s not verified yet: they are about to be stored, after the head\n", cli.Plural(v.Waiting, "decision"))
	}
	t := cli.Table{Flexible: []int{4}}
	for i := range v.Faults {
		f := &v.Faults[i]
		at := ""
		if !f.Time.IsZero() {
			at = f.Time.Local().Format(time.DateTime)
		}
		t.Row(cli.Paint(s.Out, "error", string(f.Kind)), strconv.FormatInt(f.Seq, 10), at, display.Display(f.ID), display.Display(f.Text))
	}
	if err := t.Write(s.Out); err != nil {
		return err
	}
	if v.More > 0 {
		fmt.Fprintf(out, "and %s\n", cli.Plural(int(v.More), "further fault"))
	}
	return nil
}
