package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// report is what -json prints. Times are medians of rounds, in microseconds; ratios are
// medians of the ratios of the rounds. A value that was not measured is 0.
type report struct {
	RatioFresh         float64 `json:"ratio_fresh"`    // permd's p50 for a new command by that of the echo
	RatioCached        float64 `json:"ratio_cached"`   // the same for a repeated one
	SpeedupOPA         float64 `json:"speedup_vs_opa"` // OPA's p50 by permd's for a new command
	SpeedupOPACached   float64 `json:"speedup_vs_opa_cached"`
	ThroughputVsOPA    float64 `json:"throughput_vs_opa"` // permd's throughput by OPA's, see clients_throughput
	ThroughputVsCached float64 `json:"throughput_vs_opa_cached"`
	P99VsOPA           float64 `json:"p99_vs_opa"` // permd's p99 for a new command by OPA's

	EchoP50       float64 `json:"echo_p50_us"`
	FloorP50      float64 `json:"floor_p50_us"` // the echo with a decision's system calls
	HTTPEchoP50   float64 `json:"http_echo_p50_us"`
	FreshP50      float64 `json:"permd_fresh_p50_us"`
	CachedP50     float64 `json:"permd_cached_p50_us"`
	OPAP50        float64 `json:"opa_p50_us"`
	EchoP99       float64 `json:"echo_p99_us"`
	FreshP99      float64 `json:"permd_fresh_p99_us"`
	CachedP99     float64 `json:"permd_cached_p99_us"`
	OPAP99        float64 `json:"opa_p99_us"`
	Throughput    float64 `json:"throughput_permd"` // new commands in a second, by the number of clients below
	ThroughputRep float64 `json:"throughput_permd_cached"`
	ThroughputOPA float64 `json:"throughput_opa"`
	Clients       int     `json:"clients_throughput"`
	AllocsFresh   float64 `json:"allocs_fresh"` // for a request, the whole process included
	AllocsCached  float64 `json:"allocs_cached"`
	AllocsOPA     float64 `json:"allocs_opa"`
	BytesFresh    float64 `json:"bytes_fresh"`
	BytesCached   float64 `json:"bytes_cached"`
	BytesOPA      float64 `json:"bytes_opa"`
	HookP50       float64 `json:"hook_ms_p50"`
	HookP99       float64 `json:"hook_ms_p99"`

	Compared []compared `json:"compared"` // with OPA's server, by the number of clients
	Proxy    proxied    `json:"proxy"`
	Heavy    heavy      `json:"heavy"`
	Budgets  []budget   `json:"budgets"`

	Machine     machine          `json:"machine"`
	Memory      map[string]usage `json:"memory"`
	Series      []seriesReport   `json:"series"`
	Allocations []allocated      `json:"allocations"`
	Programs    []*program       `json:"programs"`
	Missing     []string         `json:"missing,omitempty"`
}

// compared are ratios of permd and OPA's server for as many clients. permd stores its
// decisions, and OPA does not.
type compared struct {
	Clients  int     `json:"clients"`
	Repeated float64 `json:"throughput_cached"` // of repeated commands, by OPA's
	likeness
	Both    likeness `json:"both_logged"`    // OPA logs them, too
	Neither likeness `json:"neither_logged"` // a build of permd that does not store them
}

// likeness compares permd with OPA's server for new commands.
type likeness struct {
	Speedup float64 `json:"p50_opa"`    // OPA's p50 by permd's
	Fresh   float64 `json:"throughput"` // permd's by OPA's
	P99     float64 `json:"p99"`        // permd's by OPA's
}

func compare(permd, opa *series) likeness {
	return likeness{ratio(opa.p50(), permd.p50()), ratio(permd.perSecond(), opa.perSecond()), ratio(permd.p99(), opa.p99())}
}

// logged are the rows of a table of what is compared.
func (r *report) logged() (rows [][]string) {
	for _, c := range r.Compared {
		for _, l := range []struct {
			what string
			likeness
		}{{"permd", c.likeness}, {"both", c.Both}, {"neither", c.Neither}} {
			rows = append(rows, []string{l.what, fmt.Sprint(c.Clients), fmt.Sprintf("%.2f", l.Speedup), fmt.Sprintf("%.2f", l.Fresh), fmt.Sprintf("%.2f", l.P99)})
		}
	}
	return rows
}

var loggedColumns = []string{"who logs", "clients", "OPA's p50, by permd's", "throughput, by OPA's", "p99, by OPA's"}

// machine is where and how it was measured.
type machine struct {
	Processors int     `json:"processors"`
	Go         string  `json:"go"`
	System     string  `json:"system"`
	Load       float64 `json:"load"` // of the last minute, before the run
	Rounds     int     `json:"rounds"`
	TurnMS     float64 `json:"turn_ms"`
}

// seriesReport is a series with its medians.
type seriesReport struct {
	series
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	P999      float64 `json:"p999_us"`
	PerSecond float64 `json:"per_second"`
	CPU       float64 `json:"cpu_us"`     // of the server, for a request
	Requests  int     `json:"requests"`   // that were measured
	ToEcho    float64 `json:"ratio"`      // p50 by that of the echo of the same size and clients
	ToHTTP    float64 `json:"ratio_http"` // the same by the echo over HTTP
}

func newReport(p *plan, o options, programs []*program, all []allocated) *report {
	r := &report{
		Machine: machine{
			Processors: runtime.NumCPU(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Load: o.load,
			Rounds: o.rounds, TurnMS: micros(o.turn) / 1000,
		},
		Memory: map[string]usage{}, Programs: programs, Allocations: all, Missing: p.world.missing,
	}
	for name, s := range p.world.servers {
		if u, err := s.usage(); err == nil {
			r.Memory[name] = u
		}
	}
	for _, s := range p.all {
		r.Series = append(r.Series, p.summary(s))
	}
	r.headline(p, o)
	for _, a := range all {
		switch {
		case a.Kind != command || a.Size != small:
		case a.Server == serverOPA:
			r.AllocsOPA, r.BytesOPA = a.Count, a.Bytes
		case a.Repeated:
			r.AllocsCached, r.BytesCached = a.Count, a.Bytes
		default:
			r.AllocsFresh, r.BytesFresh = a.Count, a.Bytes
		}
	}
	for _, c := range programs {
		if c.Name == hookClaude {
			r.HookP50, r.HookP99 = c.P50, c.P99
		}
	}
	return r
}

func (p *plan) summary(s *series) seriesReport {
	out := seriesReport{
		series: *s, P50: median(s.p50()), P99: median(s.p99()), PerSecond: median(s.perSecond()),
		P999: median(s.each(func(r round) float64 { return r.p999 })), CPU: median(s.each(func(r round) float64 { return r.cpu })),
	}
	for _, r := range s.rounds {
		out.Requests += r.n
	}
	if echo := p.find(serverEcho, command, s.Size, false, s.Clients); echo != nil {
		out.ToEcho = ratio(s.p50(), echo.p50())
	}
	if echo := p.find(serverHTTPEcho, command, small, false, s.Clients); echo != nil && p.world.servers[s.Server].http {
		out.ToHTTP = ratio(s.p50(), echo.p50())
	}
	return out
}

// headline fills the values that stand first.
func (r *report) headline(p *plan, o options) {
	none := &series{}
	find := func(server string, repeated bool, clients int) *series {
		if s := p.find(server, command, small, repeated, clients); s != nil {
			return s
		}
		return none
	}
	echo, fresh, cached, opa := find(serverEcho, false, 1), find(serverPermd, false, 1), find(serverPermd, true, 1), find(serverOPA, false, 1)
	r.RatioFresh, r.RatioCached = ratio(fresh.p50(), echo.p50()), ratio(cached.p50(), echo.p50())
	r.SpeedupOPA, r.SpeedupOPACached = ratio(opa.p50(), fresh.p50()), ratio(opa.p50(), cached.p50())
	r.P99VsOPA = ratio(fresh.p99(), opa.p99())
	r.EchoP50, r.EchoP99 = median(echo.p50()), median(echo.p99())
	r.FloorP50 = median(find(serverFloor, false, 1).p50())
	r.HTTPEchoP50 = median(find(serverHTTPEcho, false, 1).p50())
	r.FreshP50, r.FreshP99 = median(fresh.p50()), median(fresh.p99())
	r.CachedP50, r.CachedP99 = median(cached.p50()), median(cached.p99())
	r.OPAP50, r.OPAP99 = median(opa.p50()), median(opa.p99())
	for _, clients := range append([]int{1}, o.clients...) {
		fresh, cached, opa := find(serverPermd, false, clients), find(serverPermd, true, clients), find(serverOPA, false, clients)
		r.Compared = append(r.Compared, compared{
			clients, ratio(cached.perSecond(), opa.perSecond()), compare(fresh, opa),
			compare(fresh, find(serverOPALog, false, clients)), compare(find(serverOff, false, clients), opa),
		})
	}
	r.Clients = o.mostClients()
	fresh, cached, opa = find(serverPermd, false, r.Clients), find(serverPermd, true, r.Clients), find(serverOPA, false, r.Clients)
	r.Throughput, r.ThroughputRep, r.ThroughputOPA = median(fresh.perSecond()), median(cached.perSecond()), median(opa.perSecond())
	r.ThroughputVsOPA, r.ThroughputVsCached = ratio(fresh.perSecond(), opa.perSecond()), ratio(cached.perSecond(), opa.perSecond())
}

func (r *report) writeJSON(w io.Writer) error {
	for i := range r.Series {
		if s := &r.Series[i]; math.IsNaN(s.CPU) {
			s.CPU = 0
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// writeText prints the tables, the ratios first.
func (r *report) writeText(w io.Writer) {
	fmt.Fprintf(w, "by the echo: a new command %.1f, a repeated one %.1f\n", r.RatioFresh, r.RatioCached)
	fmt.Fprintf(w, "beside OPA's server: p50 %.2f times as fast for a new command, %.2f for a repeated one; throughput of %d clients %.2f and %.2f times; p99 %.2f of OPA's\n\n",
		r.SpeedupOPA, r.SpeedupOPACached, r.Clients, r.ThroughputVsOPA, r.ThroughputVsCached, r.P99VsOPA)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tcall\tsize\tclients\tp50 µs\tp99\tp99.9\t/s\tCPU µs\t× echo\t× http echo\t")
	for i := range r.Series {
		s := &r.Series[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\t\n",
			s.Server, callName(s.Kind, s.Repeated), s.Size, s.Clients, s.P50, s.P99, s.P999, s.PerSecond, s.CPU, times(s.ToEcho), times(s.ToHTTP))
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(loggedColumns, "\t")+"\t")
	for _, row := range r.logged() {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tcall\tsize\tallocations\tbytes\t")
	for _, a := range r.Allocations {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t\n", a.Server, callName(a.Kind, a.Repeated), a.Size, a.Count, a.Bytes)
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "a whole process\tp50 ms\tp99\tCPU ms\t")
	for _, p := range r.Programs {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t\n", p.Name, p.P50, p.P99, p.CPU)
	}
	t.Flush()
	fmt.Fprintln(w)
	r.Proxy.writeText(w)
	for _, name := range []string{serverPermd, serverPower, serverOff, serverOPA, serverOPALog, serverEcho, serverFloor, serverHTTPEcho} {
		if u, ok := r.Memory[name]; ok {
			fmt.Fprintf(w, "memory of %s: %.1f MiB resident, %.1f at the peak\n", name, u.RSS, u.Peak)
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintln(w, "missing:", m)
	}
}

func callName(kind string, repeated bool) string {
	if repeated {
		return kind + ", repeated"
	}
	return kind
}

// times writes a ratio, nothing for one that was not measured.
func times(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", v)
}

// load is the machine's load of the last minute, 0 if the system does not tell.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var one float64
	_, _ = fmt.Fscan(strings.NewReader(string(text)), &one)
	return one
}
