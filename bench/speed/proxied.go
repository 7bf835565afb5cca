package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/bench/internal/cputime"
	"github.com/permd/permd/socket/acp"
)

// proxied are the times of permission requests on three ways to the same daemon: through
// "permd acp", through a relay that does nothing, and directly.
type proxied struct {
	Through float64 `json:"through_p50_us"`
	Relayed float64 `json:"relayed_p50_us"`
	Direct  float64 `json:"direct_p50_us"`
	Added   float64 `json:"added_p50_us"`       // by permd acp: the median of the differences of the rounds
	Floor   float64 `json:"relay_added_p50_us"` // the same by the relay: no proxy that is a process of its own adds less
	Ratio   float64 `json:"ratio_relay"`        // the first by the second, the median of the ratios of the rounds

	CPU           float64 `json:"cpu_us"` // of the process permd acp, for a request; its agent and the daemon are not in it
	Switches      float64 `json:"switches"`
	RelayCPU      float64 `json:"relay_cpu_us"`
	RelaySwitches float64 `json:"relay_switches"`

	// Another build of permd acp, with -against.
	Before *proxyBefore `json:"before,omitempty"`
}

// proxyBefore compares permd acp with another build of it.
type proxyBefore struct {
	Added    difference `json:"added_p50_us"`
	CPU      difference `json:"cpu_us"`
	Switches difference `json:"switches"`
}

// proxiedAgent is the agent process of the proxy that is measured, with what controls it.
type proxiedAgent struct {
	cmd      *exec.Cmd
	in       io.Closer
	ln       net.Listener
	control  net.Conn
	orders   *json.Encoder
	outcomes *json.Decoder
}

// startProxied starts a proxy, which starts the agent that asks what it reads from the socket,
// and opens a session as a client does.
func (w *world) startProxied(cmd *exec.Cmd, socket string) (b *proxiedAgent, err error) {
	b = &proxiedAgent{cmd: cmd}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.ln, err = net.Listen("unix", socket); err != nil {
		return b, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return b, err
	}
	b.in = in
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return b, err
	}
	if err := cmd.Start(); err != nil {
		return b, err
	}
	lines := bufio.NewReader(answers)
	for _, text := range []string{initialize, fmt.Sprintf(newSession, w.project)} {
		if _, err := io.WriteString(in, text); err != nil {
			return b, err
		}
		if _, err := lines.ReadSlice('\n'); err != nil {
			return b, err
		}
	}
	if b.control, err = b.ln.Accept(); err != nil {
		return b, err
	}
	b.orders, b.outcomes = json.NewEncoder(b.control), json.NewDecoder(b.control)
	return b, nil
}

// turn has the agent ask for a time, and returns the round as the agent and the program
// have seen it.
func (b *proxiedAgent) turn(request string, length time.Duration) (round, error) {
	r := round{cpu: math.NaN(), switches: math.NaN()}
	pid := b.cmd.Process.Pid
	switched, switchErr := switches(pid)
	before, cpuErr := cputime.Of(pid)
	if err := b.orders.Encode(order{Request: request, Repeated: true, Length: length}); err != nil {
		return r, err
	}
	var got outcome
	if err := b.outcomes.Decode(&got); err != nil {
		return r, err
	}
	if got.Error != "" {
		return r, fmt.Errorf("an agent behind %s: %s", filepath.Base(b.cmd.Path), got.Error)
	}
	after, err := cputime.Of(pid)
	if cpuErr == nil && err == nil {
		r.cpu = micros(after-before) / float64(len(got.Took))
	}
	now, err := switches(pid)
	if switchErr == nil && err == nil {
		r.switches = float64(now-switched) / float64(len(got.Took))
	}
	slices.Sort(got.Took)
	r.p50, r.n = micros(percentile(got.Took, 0.5)), len(got.Took)
	return r, nil
}

// close ends the program, and with it the agent.
func (b *proxiedAgent) close() error {
	var errs []error
	if b.control != nil {
		errs = append(errs, b.control.Close())
	}
	if b.in != nil {
		errs = append(errs, b.in.Close())
	}
	if b.cmd.Process != nil {
		errs = append(errs, b.cmd.Wait())
	}
	if b.ln != nil {
		errs = append(errs, b.ln.Close())
	}
	return errors.Join(errs...)
}

// proxied measures, in turns, repeated commands of an agent that permd's proxy started, of
// one behind a relay that does nothing, and the same commands over the socket. before is
// another build of permd, whose proxy is measured too, or "".
func (p *plan) proxied(ctx context.Context, before string, rounds int, length time.Duration) (out proxied, err error) {
	w := p.world
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	daemon := w.servers[serverPermd]
	var ways []*proxiedAgent
	defer func() {
		for _, way := range ways {
			err = errors.Join(err, way.close())
		}
	}()
	programs := []string{p.permd, ""}
	if before != "" {
		programs = append(programs, before)
	}
	for i, program := range programs {
		socket := filepath.Join(w.dir, fmt.Sprintf("agent%d.sock", i))
		cmd := exec.CommandContext(ctx, program, "acp", "--", self, echoFlag, echoAgent, socket)
		cmd.Env, cmd.Dir = daemon.cmd.Env, w.project
		if program == "" {
			cmd = exec.CommandContext(ctx, self, echoFlag, echoRelay, daemon.socket)
			cmd.Env = append(os.Environ(), envRelayAgent+"="+socket, envRelaySession+"="+daemon.session)
		}
		way, err := w.startProxied(cmd, socket)
		if err != nil {
			return out, err
		}
		ways = append(ways, way)
	}
	direct := p.make(serverPermd, command, small, true, 1)
	request := line(acp.MethodRequestPermission, params(toolCall(command, small, w.project)))
	var n numbers
	var straight series
	all, added := make([]series, len(ways)), make([]series, len(ways))
	for i := range rounds + 1 {
		r, err := w.turn(direct, &n, length)
		if err != nil {
			return out, err
		}
		straight.rounds = append(straight.rounds, r)
		for k := range ways {
			j := (k + i) % len(ways) // who goes first changes
			by, err := ways[j].turn(request, length)
			if err != nil {
				return out, err
			}
			all[j].rounds, added[j].rounds = append(all[j].rounds, by), append(added[j].rounds, round{p50: by.p50 - r.p50})
		}
		if i == 0 { // fills caches and heaps
			straight.rounds = nil
			for j := range ways {
				all[j].rounds, added[j].rounds = nil, nil
			}
		}
	}
	cpu, stops := func(r round) float64 { return r.cpu }, func(r round) float64 { return r.switches }
	proxy, relay := &all[0], &all[1]
	out = proxied{
		Through: median(proxy.p50()), Relayed: median(relay.p50()), Direct: median(straight.p50()),
		Added: median(added[0].p50()), Floor: median(added[1].p50()), Ratio: ratio(added[0].p50(), added[1].p50()),
		CPU: median(proxy.each(cpu)), Switches: median(proxy.each(stops)),
		RelayCPU: median(relay.each(cpu)), RelaySwitches: median(relay.each(stops)),
	}
	if before != "" {
		old := &all[2]
		of := func(b, a []float64) difference { return difference{median(b), median(a), ratio(a, b)} }
		out.Before = &proxyBefore{
			of(added[2].p50(), added[0].p50()), of(old.each(cpu), proxy.each(cpu)), of(old.each(stops), proxy.each(stops)),
		}
	}
	return out, nil
}

// rows are those of a table of the ways.
func (p *proxied) rows() [][]string {
	return [][]string{
		{"directly", number(p.Direct), "", "", ""},
		{"a relay that does nothing", number(p.Relayed), number(p.Floor), number(p.RelayCPU), number(p.RelaySwitches)},
		{"`permd acp`", number(p.Through), number(p.Added), number(p.CPU), number(p.Switches)},
	}
}

var proxiedColumns = []string{"a decided request", "p50 µs", "adds µs", "CPU µs", "switches"}

// runProxied measures the proxy alone.
func runProxied(ctx context.Context, o options, out io.Writer, progress func(string)) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	o.opa, o.instruments = false, false
	p, err := newPlan(ctx, w, o, progress)
	if err != nil {
		return err
	}
	r, err := p.proxied(ctx, o.against, o.rounds, o.turn)
	if err != nil {
		return err
	}
	if o.write {
		return writeDocs(docsProxy, r.markdown(o))
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	r.writeText(out)
	return nil
}

// writeText prints what the proxy adds.
func (p *proxied) writeText(w io.Writer) {
	fmt.Fprintf(w, "a decided request, p50 in µs: %.0f over the socket, %.0f through permd acp, which adds %.0f; a relay that does nothing adds %.0f, so permd acp adds %.2f times as much\n",
		p.Direct, p.Through, p.Added, p.Floor, p.Ratio)
	fmt.Fprintf(w, "CPU of the process for a request in µs: permd acp %.0f, the relay %.0f; its threads stop %.1f times, the relay's %.1f\n", p.CPU, p.RelayCPU, p.Switches, p.RelaySwitches)
	if b := p.Before; b != nil {
		fmt.Fprintf(w, "the other build: adds %.0f µs (%.2f of it now), CPU %.0f µs (%.2f), stops %.1f times (%.2f)\n",
			b.Added.Before, b.Added.Ratio, b.CPU.Before, b.CPU.Ratio, b.Switches.Before, b.Switches.Ratio)
	}
}

// markdown returns what the proxy adds as a table.
func (p *proxied) markdown(o options) string {
	t := newTable(1, proxiedColumns...)
	for _, row := range p.rows() {
		t.row(row...)
	}
	return fmt.Sprintf("%d rounds of %.0f ms a turn; load %.1f before the run. `permd acp` adds %.2f times what the relay adds (the median of the ratios of the rounds).\n\n%s",
		o.rounds, micros(o.turn)/1000, o.load, p.Ratio, t.b.String())
}
