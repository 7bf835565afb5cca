package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/ctty"
	"github.com/permd/permd/internal/processname"
	"github.com/permd/permd/remember/pause"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// pauses are what people have set for all of their calls, as the management methods have
// it.
type pauses struct{ d *daemon }

// lockedByOrg refuses what the organisation's lock does not let people do.
const lockedByOrg = "the organisation has locked permd, which only it can end (lock in /etc/permd/permd.toml): "

// Pause begins a pause. Each of them begins at a terminal, so that no program in the
// background can.
func (p pauses) Pause(ctx context.Context, peer decisions.Peer, n admin.NewPause) (admin.Pause, error) {
	if !ctty.Has(peer.PID) {
		return admin.Pause{}, admin.Refusal("a pause begins at a terminal")
	}
	if why := p.d.rules.Lock(); why != "" {
		return admin.Pause{}, admin.Refusal(lockedByOrg + why)
	}
	set := pause.Setting{
		UID: peer.UID, For: time.Duration(min(max(n.Seconds, 0), int64(pause.Max/time.Second)+1)) * time.Second,
		Only: n.Only, Unknown: n.Unknown, Why: masked(n.Why),
	}
	if n.Dir != "" {
		project := paths.FindProject(p.d.engine.FS, n.Dir, p.d.engine.Users.Lookup(peer.UID).Home)
		if project == "" {
			return admin.Pause{}, admin.Refusal(n.Dir + " lies in no project")
		}
		set.Project = paths.ProjectKey(p.d.engine.FS, project)
	}
	got, err := p.d.pauses.Set(set, func(s *pause.Setting) error {
		return p.d.recordAct(ctx, peer, "permd pause", describe(s))
	})
	if why, ok := errors.AsType[pause.Refusal](err); ok {
		return admin.Pause{}, admin.Refusal(why)
	}
	if err != nil {
		return admin.Pause{}, fmt.Errorf("nothing is paused: %w", err)
	}
	p.d.tell(&peer.UID, native.ChangedPause)
	return wirePause(&got), nil
}

// Lock has everything ask, and ends what was allowed once.
func (p pauses) Lock(ctx context.Context, peer decisions.Peer, why string) (admin.Pause, error) {
	got, err := p.d.pauses.Set(pause.Setting{UID: peer.UID, Locked: true, Why: masked(why)}, func(s *pause.Setting) error {
		return p.d.recordAct(ctx, peer, "permd lock", describe(s))
	})
	if why, ok := errors.AsType[pause.Refusal](err); ok {
		return admin.Pause{}, admin.Refusal(why)
	}
	// What the person allowed once is asked again, also after the lock.
	var missed atomic.Bool
	by := peer.Author(author.Lock)
	by.Process = processname.Of(by.PID)
	p.d.recordTakenBack(context.WithValue(ctx, notLoggedKey{}, &missed), by, p.d.engine.Persistent.TakeBack(&peer.UID, ""))
	p.d.tell(&peer.UID, native.ChangedPause)
	w := wirePause(&got)
	w.NotLogged = missed.Load()
	if err != nil {
		w.Unstored = err.Error()
	}
	return w, nil
}

// endOnceIfLocked ends what people allowed once while the organisation has locked permd, as permd
// lock does for one of them.
func (d *daemon) endOnceIfLocked() {
	if d.engine == nil || d.rules.Lock() == "" {
		return // while the daemon starts nothing is allowed yet
	}
	if ids := d.engine.Persistent.TakeBack(nil, ""); len(ids) > 0 {
		pid := int32(os.Getpid())
		by := author.Identity{Via: author.Lock, UID: uint32(os.Geteuid()), PID: pid, Process: processname.Of(pid)}
		// It has ended already, and rules must not wait for the journal.
		go d.recordTakenBack(context.Background(), by, ids)
	}
}

// Resume ends a pause.
func (p pauses) Resume(ctx context.Context, peer decisions.Peer) (admin.Ended, error) {
	return p.end(ctx, peer, "permd resume", false)
}

// Unlock ends a lock, at a terminal.
func (p pauses) Unlock(ctx context.Context, peer decisions.Peer) (admin.Ended, error) {
	if !ctty.Has(peer.PID) {
		return admin.Ended{}, admin.Refusal("permd is unlocked at a terminal")
	}
	if why := p.d.rules.Lock(); why != "" {
		return admin.Ended{}, admin.Refusal(lockedByOrg + why)
	}
	return p.end(ctx, peer, "permd unlock", true)
}

func (p pauses) end(ctx context.Context, peer decisions.Peer, command string, locked bool) (admin.Ended, error) {
	if _, damage := p.d.pauses.Status(); damage != "" && p.d.dirs.System && peer.UID != 0 {
		return admin.Ended{}, admin.Refusal("everything asks for everybody, and root alone ends that: " + damage)
	}
	was, ended, err := p.d.pauses.End(peer.UID, locked)
	if !ended {
		return admin.Ended{}, err
	}
	p.d.tell(&peer.UID, native.ChangedPause)
	text := "the pause has ended"
	if was.Locked {
		text = "permd is unlocked"
	}
	e := admin.Ended{Ended: true}
	if err := errors.Join(err, p.d.recordAct(ctx, peer, command, text)); err != nil {
		e.Unstored = err.Error()
	}
	return e, nil
}

// masked is a person's reason without what may be a secret, as it is stored and logged.
func masked(why string) string {
	if !display.HoldsSecret(why) {
		return why // what is no text of one line is refused
	}
	return display.Display(why)
}

// describe says what was set, for the journal.
func describe(s *pause.Setting) string {
	text := "everything asks"
	if !s.Locked {
		text = fmt.Sprintf("paused for %s, until %s", s.For, s.Until().UTC().Format(time.RFC3339))
		if s.Project != "" {
			text += " in " + s.Project
		}
		if s.Only != nil {
			text += ", only " + joined(s.Only)
		}
		if s.Unknown {
			text += ", also what is not understood"
		}
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

func joined(list []decisions.Activity) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = string(a)
	}
	return strings.Join(words, " and ")
}

// recordAct writes into the journal what a person has done with a command, and who it was.
func (d *daemon) recordAct(ctx context.Context, peer decisions.Peer, command, text string) error {
	if err := d.shares.admit(peer.UID, true); err != nil {
		return err
	}
	err := d.journal.Append(context.WithoutCancel(ctx), &decisions.Record{
		Time: d.now(), Peer: peer, Client: effects.Party{Name: "permd"}, Protocol: decisions.ProtocolCommand, Tool: command,
		Decision: decisions.Decision{
			ID: uuid.Must(uuid.NewV7()).String(), Verdict: decisions.Allow, Needed: decisions.NotNeeded, By: decisions.ByHuman,
			Reason: text, Policy: decisions.PolicyRef{Digest: d.rules.Digest()}, Effects: []decisions.EffectDecision{},
		},
	})
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

func wirePause(s *pause.Status) admin.Pause {
	w := admin.Pause{
		UID: s.UID, Locked: s.Locked, Since: s.Since, Project: s.Project, Only: s.Only, Unknown: s.Unknown, Why: s.Why,
	}
	if !s.Locked {
		w.Until, w.Seconds = s.Until(), int64(s.Left/time.Second)
	}
	return w
}

// pausesInForce returns the pauses and locks in force, and why everything asks although
// nobody locked permd.
func (d *daemon) pausesInForce() (list []admin.Pause, locked string) {
	all, damage := d.pauses.Status()
	for i := range all {
		list = append(list, wirePause(&all[i]))
	}
	return list, damage
}

// endPauses notices when the time of a pause is over, and says so in the journal. Clients are notified
// of that, and of choices that have expired.
func (d *daemon) endPauses(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if d.changes.Watched() {
			for _, uid := range d.expiries.over(d.now, d.memory.All) {
				d.changes.Tell(&uid, native.ChangedChoices) // open questions have a timer of their own
			}
		}
		over, err := d.pauses.Expired()
		for i := range over {
			p := &over[i]
			d.tell(&p.UID, native.ChangedPause)
			err = errors.Join(err, d.recordAct(ctx, decisions.Peer{UID: p.UID, PID: int32(os.Getpid())}, "permd pause", "the time of the pause is over"))
		}
		if err != nil {
			d.log.Warn("a pause is over, which is not stored", "error", err)
		}
	}
}
