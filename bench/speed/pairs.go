package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// serverBefore is another build of permd, which the one of this source is compared with.
const serverBefore = "permd-before"

// pair is what two builds of permd took for the same requests.
type pair struct {
	Kind     string     `json:"kind"`
	Repeated bool       `json:"repeated"`
	Clients  int        `json:"clients"`
	CPU      difference `json:"cpu_us"`   // processor time of the daemon for a request
	Switches difference `json:"switches"` // how often its threads stopped, for a request
	P50      difference `json:"p50_us"`
	Rate     difference `json:"per_second"`
}

// difference is a value of two builds.
type difference struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Ratio  float64 `json:"ratio"` // the median of the ratios of the pairs of turns
}

func (d difference) cells() []string {
	return []string{fmt.Sprintf("%.3g", d.Before), fmt.Sprintf("%.3g", d.After), fmt.Sprintf("%.2f", d.Ratio)}
}

// pairs measures two builds in pairs of turns: of each series, one has its turn right after
// the other, and who is first alternates.
func (w *world) pairs(all [][2]*series, o options, progress func(string)) ([]pair, error) {
	var n numbers
	for i := range o.rounds + 1 {
		progress(fmt.Sprintf("round %d of %d", i, o.rounds))
		for _, both := range all {
			if i%2 == 1 {
				slices.Reverse(both[:])
			}
			for _, s := range both {
				r, err := w.turn(s, &n, o.turn)
				if err != nil {
					return nil, err
				}
				if i > 0 { // the first round fills caches and heaps
					s.rounds = append(s.rounds, r)
				}
			}
		}
	}
	var out []pair
	for _, both := range all {
		before, after := both[0], both[1]
		of := func(value func(round) float64) difference {
			b, a := before.each(value), after.each(value)
			return difference{median(b), median(a), ratio(a, b)}
		}
		out = append(out, pair{
			before.Kind, before.Repeated, before.Clients,
			of(func(r round) float64 { return r.cpu }), of(func(r round) float64 { return r.switches }),
			of(func(r round) float64 { return r.p50 }), of(func(r round) float64 { return r.perSecond }),
		})
	}
	return out, nil
}

// runPairs compares the daemon of this source with another build.
func runPairs(ctx context.Context, o options, out io.Writer, progress func(string)) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	p := &plan{world: w, permd: o.program}
	if p.permd == "" {
		progress("building permd")
		p.permd = filepath.Join(w.dir, "bin", "permd")
		if err := buildPermd(ctx, p.permd); err != nil {
			return err
		}
	}
	for name, program := range map[string]string{serverBefore: o.against, serverPermd: p.permd} {
		if _, err := w.startPermd(ctx, name, program, configuration{connections: o.mostClients()}); err != nil {
			return err
		}
	}
	var all [][2]*series
	for _, clients := range append([]int{1}, o.clients...) {
		for _, repeated := range []bool{false, true} {
			all = append(all, [2]*series{
				p.make(serverBefore, o.kind, small, repeated, clients),
				p.make(serverPermd, o.kind, small, repeated, clients),
			})
		}
	}
	pairs, err := w.pairs(all, o, progress)
	if err != nil {
		return err
	}
	if o.write {
		return writeDocs(docsPairs, pairsMarkdown(pairs, o))
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(pairs)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "call\tclients\tCPU µs\tnow\t×\tswitches\tnow\t×\tp50 µs\tnow\t×\t/s\tnow\t×\t")
	for _, p := range pairs {
		fmt.Fprintf(t, "%s\t%d\t", callName(p.Kind, p.Repeated), p.Clients)
		for _, d := range []difference{p.CPU, p.Switches, p.P50, p.Rate} {
			for _, cell := range d.cells() {
				fmt.Fprint(t, cell+"\t")
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// pairsMarkdown returns the comparison as a table: what does not depend on who else uses
// the machine.
func pairsMarkdown(pairs []pair, o options) string {
	t := newTable(1, "call", "clients", "CPU µs, before", "now", "×", "switches, before", "now", "×")
	for _, p := range pairs {
		t.row(slices.Concat([]string{callName(p.Kind, p.Repeated), fmt.Sprint(p.Clients)}, p.CPU.cells(), p.Switches.cells())...)
	}
	return fmt.Sprintf("%d pairs of turns of %.1f s; load %.1f before the run.\n\n%s", o.rounds, o.turn.Seconds(), o.load, t.b.String())
}
