package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/policy/bundles"
)

// scenario is one thing that happens to the fleet. play returns when machines reached what
// they had to, and an error if they did not, or did something else.
type scenario struct {
	name string
	what string
	play func(f *fleet, ctx context.Context, r *result) error
}

// result is what was measured of a scenario.
type result struct {
	Name    string `json:"name"`
	What    string `json:"what"`
	Machine int    `json:"machines"` // how many had to reach it
	spread
	Seconds float64 `json:"seconds"` // how long it was measured
	counts
	ServerCPU   float64 `json:"serverCPUSeconds"`   // -1 if not known
	ReceiverCPU float64 `json:"receiverCPUSeconds"` // -1 if not known
	Note        string  `json:"note,omitempty"`

	returned time.Time // when the server answered again; zero if it always did
	most     int       // how many machines may poll within a second then, 0 for any number
}

const firstRollout = "first"

var scenarios = []scenario{
	{firstRollout, "all machines start and get the first bundle", (*fleet).first},
	{"steady", "nothing new: machines poll", (*fleet).steady},
	{"new", "a new signed policy", (*fleet).newPolicy},
	{"broken", "a signed bundle whose rules do not compile", (*fleet).broken},
	{"otherkey", "a bundle signed with another key", (*fleet).otherKey},
	{"unsigned", "a bundle without a signature", (*fleet).unsigned},
	{"replay", "an old signed bundle again", (*fleet).replay},
	{"rollback", "the former rules, published with a higher revision", (*fleet).rollback},
	{"outage", "the server is down, and comes back with a new policy", (*fleet).outage},
	{"hang", "the server accepts connections and answers nothing", (*fleet).hang},
	{"canary", "5 % of the machines try a policy, then all get it, as discovery says", (*fleet).canary},
}

// play plays a scenario and reports it.
func (f *fleet) play(ctx context.Context, s scenario) error {
	r := &result{Name: s.name, What: s.what, Machine: len(f.machines), ServerCPU: -1, ReceiverCPU: -1}
	if _, err := f.traffic.read(); err != nil && s.name != firstRollout {
		return err
	}
	web, webErr := f.web.cpu()
	received, err := f.receiver.cpu()
	start := time.Now()
	if perr := s.play(f, ctx, r); perr != nil {
		return perr
	}
	r.Seconds = time.Since(start).Seconds()
	if now, nowErr := f.web.cpu(); webErr == nil && nowErr == nil {
		r.ServerCPU = (now - web).Seconds()
	}
	if now, nowErr := f.receiver.cpu(); err == nil && nowErr == nil {
		r.ReceiverCPU = (now - received).Seconds()
	}
	if r.counts, err = f.traffic.read(); err != nil {
		return err
	}
	if err := f.herd(r); err != nil {
		return err
	}
	f.report.add(r)
	return nil
}

// enough machines are those whose polls per second are no chance.
const enough = 200

// herd counts polls since the server answered again, and returns an error if too many machines
// came within a second. With few machines that is chance.
func (f *fleet) herd(r *result) error {
	r.Peak = r.peakSince(r.returned)
	if len(f.machines) >= enough && r.most > 0 && r.Peak > r.most {
		return fmt.Errorf("after the return %d machines polled within one second, want at most %d", r.Peak, r.most)
	}
	return nil
}

// pause waits, and returns an error if the program is to end.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fleet) first(ctx context.Context, r *result) (err error) {
	before, start := heap(), time.Now()
	if err := all(f.machines, startTogether, func(m *machine) error { return m.begin(ctx) }); err != nil {
		return err
	}
	if r.spread, err = f.awaitRevision(ctx, start, f.revision); err != nil {
		return err
	}
	f.report.memory(f, before)
	snap, err := snapshot(f.machines[0].store)
	if err != nil {
		return err
	}
	f.decisions, err = decide(ctx, snap, f.dir, commands)
	return errors.Join(err, f.unchanged())
}

func (f *fleet) steady(ctx context.Context, _ *result) error {
	start := time.Now()
	if err := f.decide(ctx); err != nil {
		return err
	}
	if err := pause(ctx, 2*f.longest()); err != nil {
		return err
	}
	_, err := f.awaitWell(ctx, start)
	return errors.Join(err, f.unchanged())
}

func (f *fleet) newPolicy(ctx context.Context, r *result) error {
	start, err := f.publish(ctx, f.next(f.revision+1))
	if err != nil {
		return err
	}
	r.spread, err = f.awaitRevision(ctx, start, f.revision)
	return errors.Join(err, f.unchanged())
}

// refused publishes a bundle that no machine may take, has machines poll for a while, and puts
// the last good one back.
func (f *fleet) refused(ctx context.Context, r *result, e edition, why string) (err error) {
	start, good := time.Now(), f.good
	if err := f.publishBad(e); err != nil {
		return err
	}
	if r.spread, err = f.awaitProblem(ctx, start, why); err != nil {
		return err
	}
	if err := pause(ctx, 2*f.longest()); err != nil {
		return err
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	r.Note = "as long as it is published, each machine asks for it again"
	back := time.Now()
	if err := f.site.publish(resource, good); err != nil {
		return err
	}
	if _, err := f.awaitWell(ctx, back); err != nil {
		return err
	}
	return f.unchanged()
}

func (f *fleet) broken(ctx context.Context, r *result) error {
	e := f.next(f.revision + 1)
	e.rego = "package permd.org\n\ndeny contains {\"reason\": nowhere} if true\n"
	return f.refused(ctx, r, e, "loading org rules: bundle")
}

func (f *fleet) otherKey(ctx context.Context, r *result) error {
	e := f.next(f.revision + 1)
	e.by = f.site.other
	return f.refused(ctx, r, e, "verif")
}

func (f *fleet) unsigned(ctx context.Context, r *result) error {
	e := f.next(f.revision + 1)
	e.unsigned = true
	return f.refused(ctx, r, e, "signature")
}

func (f *fleet) replay(ctx context.Context, r *result) error {
	return f.refused(ctx, r, f.next(f.revision-1), fmt.Sprintf("revision %d is lower than %d", f.revision-1, f.revision))
}

func (f *fleet) rollback(ctx context.Context, r *result) error {
	now := f.revision
	e := f.next(now + 1)
	e.rules = deny(now - 1)
	start, err := f.publish(ctx, e)
	if err != nil {
		return err
	}
	want := fmt.Sprint(f.revision)
	r.spread, err = f.await(ctx, start, f.machines, func(m *machine) (time.Time, bool) {
		got, at := m.has(bundles.Org)
		return at, got == want
	})
	if err == nil {
		err = errors.Join(f.awaitDaemons(ctx, want, ""), f.checkVerdict(ctx, tool(now-1), "deny"), f.checkVerdict(ctx, tool(now), "ask"))
	}
	return errors.Join(err, f.unchanged())
}
