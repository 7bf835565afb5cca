package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/source"
)

// Names of files that are served for the canary.
const (
	discoveryResource = "discovery.tar.gz"
	nextResource      = "next.tar.gz"
)

// trying is the share of the machines that try new rules, in percent.
const trying = 5

// tries reports whether the policy of examples/discovery has a machine try new rules.
func tries(id string) bool {
	sum := sha256.Sum256([]byte("2027-01/" + id))
	return int(binary.BigEndian.Uint16(sum[:]))%100 < trying
}

// newID returns an id of a machine; of one that tries new rules if chosen is set.
func newID(chosen bool) string {
	for {
		if id := uuid.NewString(); !chosen || tries(id) {
			return id
		}
	}
}

// discover publishes a discovery bundle that has a share of the machines try new rules.
func (f *fleet) discover(revision, share int) error {
	policy, err := os.ReadFile(filepath.Join(f.repository, "examples", "discovery", "discovery.rego"))
	if err != nil {
		return err
	}
	text, polling := string(policy), fmt.Sprintf(`{"min_delay_seconds": %d, "max_delay_seconds": %d}`, f.o.poll/time.Second, f.longest()/time.Second)
	for _, change := range [][2]string{
		{"percent := 5\n", fmt.Sprintf("percent := %d\n", share)},
		{`config.decision_logs.service := "control"`, `config.decision_logs := {"service": "control", "reporting": ` + polling + "}"},
		{`"resource": name,`, `"resource": name, "polling": ` + polling + ","},
	} {
		if strings.Count(text, change[0]) != 1 {
			return fmt.Errorf("examples/discovery/discovery.rego must have %q exactly once", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	data, err := bundles.Build(bundles.Contents{Kind: bundles.Discovery, Revision: fmt.Sprint(revision), Files: []source.File{{Rel: "discovery.rego", Data: []byte(text)}}})
	if err == nil {
		data, err = bundles.Sign(data, f.site.key.signing())
	}
	if err != nil {
		return err
	}
	return f.site.publish(discoveryResource, data)
}

// awaitDiscovery waits until all machines have taken a discovery bundle.
func (f *fleet) awaitDiscovery(ctx context.Context, from time.Time, revision int) (spread, error) {
	want := fmt.Sprint(revision)
	return f.await(ctx, from, f.machines, func(m *machine) (time.Time, bool) {
		s := m.manager.DiscoveryStatus()
		return s.Accepted, s.Revision == want && s.Error == ""
	})
}

// canary has all machines take their configuration from a discovery bundle, a few of them try new
// rules, and then all of them get these.
func (f *fleet) canary(ctx context.Context, r *result) error {
	var chosen []*machine
	for _, m := range f.machines {
		if tries(m.id) {
			chosen = append(chosen, m)
		}
	}
	if err := f.discoverFirst(ctx); err != nil {
		return err
	}
	next := f.next(f.revision + 1)
	data, err := next.build(f.site)
	if err == nil {
		err = f.compare(ctx, data, next.revision)
	}
	if err == nil {
		err = f.site.publish(nextResource, data)
	}
	if err != nil {
		return err
	}
	start := time.Now()
	if err := f.discover(2, trying); err != nil {
		return err
	}
	told, err := f.awaitDiscovery(ctx, start, 2)
	if err != nil {
		return err
	}
	want := fmt.Sprint(next.revision)
	tried, err := f.await(ctx, start, chosen, func(m *machine) (time.Time, bool) {
		got, at := m.has(bundles.Shadow)
		return at, got == want
	})
	if err != nil {
		return err
	}
	if err := f.tryCalls(ctx, chosen, next.revision); err != nil {
		return err
	}
	seen, err := f.awaitReports(ctx, chosen, want)
	if err != nil {
		return err
	}
	f.revision, f.good = next.revision, data
	start = time.Now()
	if err := errors.Join(f.site.publish(resource, data), f.discover(3, 0)); err != nil {
		return err
	}
	if r.spread, err = f.awaitRevision(ctx, start, f.revision); err != nil {
		return err
	}
	if _, err := f.awaitDiscovery(ctx, start, 3); err != nil {
		return err
	}
	// The status has the new configuration before the shadow bundle is removed.
	if _, err := f.await(ctx, start, f.machines, func(m *machine) (time.Time, bool) {
		got, _ := m.has(bundles.Shadow)
		return time.Now(), got == ""
	}); err != nil {
		return fmt.Errorf("machines still try rules: %w", err)
	}
	r.Note = fmt.Sprintf("%d machines tried it, all of them after %.1f s (the discovery bundle was everywhere after %.1f s); they reported %d calls that differ of %d; the times above are those of the rollout to all",
		len(chosen), tried.All, told.All, seen.different, seen.compared)
	return f.unchanged()
}

// discoverFirst starts all machines and daemons anew with an opa.yaml that has discovery.
func (f *fleet) discoverFirst(ctx context.Context) error {
	if err := f.discover(1, 0); err != nil {
		return err
	}
	f.discovering = true
	start := time.Now()
	if err := startAgain(ctx, f.machines); err != nil {
		return err
	}
	for _, d := range f.daemons {
		if err := d.configure(ctx, f.machineOf(d)); err != nil {
			return err
		}
	}
	if _, err := f.awaitDiscovery(ctx, start, 1); err != nil {
		return err
	}
	if _, err := f.awaitWell(ctx, start); err != nil {
		return err
	}
	return f.unchanged()
}

// compare has the real engine decide the calls of machines by the rules in force and by those of a
// bundle, and keeps which of them differ.
func (f *fleet) compare(ctx context.Context, data []byte, revision int) error {
	b, err := bundles.Read(bundles.Org, data, nil)
	if err != nil {
		return err
	}
	both := make([][]*decisions.Record, 2)
	for i, of := range []*bundles.Bundle{f.machines[0].last(bundles.Org), b} {
		store, err := f.stores.open(ctx, of)
		if err != nil {
			return err
		}
		snap, err := snapshot(store)
		if err != nil {
			return err
		}
		if both[i], err = decide(ctx, snap, filepath.Join(f.dir, "compare", fmt.Sprint(i)), append(commands[:len(commands):len(commands)], tool(revision))); err != nil {
			return err
		}
	}
	f.decisions, f.differs = both[0], nil
	different := 0
	for i := range both[0] {
		d := both[0][i].Decision.Verdict != both[1][i].Decision.Verdict
		f.differs = append(f.differs, d)
		if d {
			different++
		}
	}
	if different != 1 {
		return fmt.Errorf("%d of %d calls differ between the rules in force and the next, want 1", different, len(f.differs))
	}
	return f.judge.examine(ctx, data)
}

// counters is what a machine reports of the rules that it tries.
func (m *machine) counters(kind bundles.Kind) map[string]uint64 {
	if kind != bundles.Shadow || m.log == nil {
		return nil
	}
	return map[string]uint64{compared: uint64(m.log.compared.Load()), different: uint64(m.log.different.Load())}
}

// The names of permd's counters.
const (
	compared  = "permd_shadow_compared"
	different = "permd_shadow_different"
)

// tryCalls has machines that try new rules decide calls, and daemons too. What is tried decides
// nothing.
func (f *fleet) tryCalls(ctx context.Context, chosen []*machine, revision int) error {
	for _, m := range f.machines {
		if got, _ := m.has(bundles.Shadow); (got != "") != tries(m.id) {
			return fmt.Errorf("%s tries revision %q, and is chosen: %v", m.name(), got, tries(m.id))
		}
	}
	err := all(chosen, doTogether, func(m *machine) error {
		if m.log == nil {
			return nil
		}
		return m.log.try(ctx, f.o.calls)
	})
	if err != nil || len(f.daemons) == 0 {
		return err
	}
	deadline := time.Now().Add(f.limit())
	for { // until the daemon that tries them has them
		got, err := f.receiver.summary()
		if err != nil {
			return err
		}
		if got.Machines[f.daemons[0].name]["shadow"].Revision == fmt.Sprint(revision) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the daemon %s does not report that it tries revision %d: %+v", f.daemons[0].name, revision, got.Machines[f.daemons[0].name])
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return f.checkVerdict(ctx, tool(revision), "ask")
}

// differences are what machines have reported.
type differences struct{ compared, different int }

// awaitReports waits until the service has the counters of all machines that try a revision, and
// of the daemon among them, and of no others.
func (f *fleet) awaitReports(ctx context.Context, chosen []*machine, revision string) (differences, error) {
	var want differences
	for _, m := range chosen {
		if m.log != nil {
			want.compared += int(m.log.compared.Load())
			want.different += int(m.log.different.Load())
		}
	}
	deadline := time.Now().Add(f.limit())
	for {
		reports, err := f.receiver.summary()
		if err != nil {
			return want, err
		}
		var got, ofDaemons differences
		tried := 0
		for name, of := range reports.Machines {
			shadow, ok := of["shadow"]
			if !ok || shadow.Revision != revision {
				continue
			}
			n := shadow.differences()
			if f.isDaemon(name) {
				ofDaemons.compared, ofDaemons.different = ofDaemons.compared+n.compared, ofDaemons.different+n.different
				continue
			}
			tried++
			got.compared, got.different = got.compared+n.compared, got.different+n.different
		}
		if tried == len(chosen) && got == want && (len(f.daemons) == 0 || ofDaemons.different >= 1) {
			got.compared, got.different = got.compared+ofDaemons.compared, got.different+ofDaemons.different
			return got, nil
		}
		if tried > len(chosen) || time.Now().After(deadline) {
			return want, fmt.Errorf("%d machines report that they try revision %s, and %+v, daemons %+v; want %d and %+v", tried, revision, got, ofDaemons, len(chosen), want)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return want, err
		}
	}
}

// differences returns the counters of a report.
func (r reported) differences() (d differences) {
	var metrics map[string]json.RawMessage
	_ = json.Unmarshal(r.Metrics, &metrics) // without metrics all are 0
	for name, into := range map[string]*int{"counter_" + compared: &d.compared, "counter_" + different: &d.different} {
		_ = json.Unmarshal(metrics[name], into)
	}
	return d
}
