package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/permd/permd/bench/internal/cputime"
)

// report prints what was measured.
type report struct {
	w       io.Writer
	o       options
	results []*result

	decisions     int     // of all machines
	perMachineKiB float64 // of memory, without a store
	goroutines    float64 // of one machine
	residentMiB   float64 // of this process, with all machines
}

// headline is the summary for programs.
type headline struct {
	Machines     int     `json:"machines"`
	PollSeconds  float64 `json:"pollSeconds"` // the least delay
	BundleBytes  int     `json:"bundleBytes"`
	RolloutAll   float64 `json:"rolloutAllSeconds"`   // of the scenario new
	RecoveredAll float64 `json:"recoveredAllSeconds"` // of the scenario outage
	PeakReturn   int     `json:"peakPollsPerSecondAfterReturn"`
	// Of the scenario steady.
	PollsPerSecond  float64 `json:"pollsPerSecond"`
	NotModified     float64 `json:"notModifiedShare"`
	BytesPerPoll    float64 `json:"bytesPerRequest"`
	ServerMicros    float64 `json:"serverMicrosPerRequest"` // -1 if not known
	ReportsPerPoll  float64 `json:"statusReportsPerPoll"`
	MachineKiB      float64 `json:"machineKiB"`
	StoreMiB        float64 `json:"storeMiB"`
	Goroutines      float64 `json:"goroutinesPerMachine"`
	ResidentMiB     float64 `json:"residentMiB"`
	MachineCPU      float64 `json:"machinesCPUSeconds"`
	ReceivedReports int64   `json:"statusReports"`
	ReportBytes     float64 `json:"bytesPerStatusReport"`
	DecisionBytes   float64 `json:"bytesPerDecision"` // as it is uploaded, compressed, with headers
}

func (r *report) head(f *fleet) {
	if r.o.asJSON || r.o.headline {
		return
	}
	o := r.o
	fmt.Fprintf(r.w, "%d machines, of which %d have a journal and %d a store of rules of their own, and %d daemons; polls every %v to %v; a bundle has %d bytes; served by %s\n",
		o.machines, o.journals, o.stores, o.daemons, o.poll, 2*o.poll, len(f.good), o.server)
	fmt.Fprintln(r.w, "Every machine downloads, verifies and keeps by itself; rules are compiled once for all machines without a store.")
	fmt.Fprintf(r.w, "\n%-9s %7s %7s %7s %8s %8s %6s %8s %7s %8s %6s %8s %8s  %s\n", "", "half", "99 %", "all", "polls", "304", "sent", "connect", "status", "peak", "in", "nginx", "receiver", "")
	fmt.Fprintf(r.w, "%-9s %7s %7s %7s %8s %8s %6s %8s %7s %8s %6s %8s %8s\n", "", "s", "s", "s", "", "%", "KiB", "", "reports", "polls/s", "s", "CPU s", "CPU s")
}

// memory notes what machines take, once all of them have started.
func (r *report) memory(f *fleet, before float64) {
	n := float64(len(f.machines))
	r.goroutines = float64(runtime.NumGoroutine()-f.idle) / n
	r.perMachineKiB = (heap() - before) * 1024 / n
	r.residentMiB = resident()
}

// resident returns the memory of this process, in MiB; 0 if it is not known.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

func (r *report) add(one *result) {
	r.results = append(r.results, one)
	switch {
	case r.o.headline:
	case r.o.asJSON:
		r.line(one)
	default:
		fmt.Fprintf(r.w, "%-9s %7.2f %7.2f %7.2f %8d %8.1f %6.0f %8d %7d %8d %6.1f %8s %8s  %s\n", one.Name, one.Half, one.Most, one.All, one.Polls, 100*one.notModified(),
			float64(one.Sent)/1024, one.Connections, one.Reports, one.Peak, one.Seconds, seconds(one.ServerCPU), seconds(one.ReceiverCPU), one.What)
		if one.Note != "" {
			fmt.Fprintf(r.w, "%-9s %s\n", "", one.Note)
		}
	}
}

func (r *report) line(v any) {
	_ = json.NewEncoder(r.w).Encode(v) // as any print
}

func (c *counts) notModified() float64 {
	if c.Polls == 0 {
		return 0
	}
	return float64(c.NotModified) / float64(c.Polls)
}

func seconds(s float64) string {
	if s < 0 {
		return "?"
	}
	return fmt.Sprintf("%.2f", s)
}

func (r *report) named(name string) *result {
	for _, one := range r.results {
		if one.Name == name {
			return one
		}
	}
	return new(result)
}

func (r *report) headline(f *fleet) headline {
	steady, outage := r.named("steady"), r.named("outage")
	h := headline{
		Machines: r.o.machines, PollSeconds: r.o.poll.Seconds(), BundleBytes: len(f.good), RolloutAll: r.named("new").All, RecoveredAll: outage.All, PeakReturn: outage.Peak,
		NotModified: steady.notModified(), ServerMicros: -1, MachineKiB: r.perMachineKiB, StoreMiB: f.storeMiB, Goroutines: r.goroutines, ResidentMiB: r.residentMiB,
	}
	if steady.Requests > 0 {
		h.PollsPerSecond, h.BytesPerPoll = float64(steady.Polls)/steady.Seconds, float64(steady.Sent)/float64(steady.Requests)
		h.ReportsPerPoll = float64(steady.Reports) / float64(steady.Polls)
		if steady.ServerCPU >= 0 {
			h.ServerMicros = steady.ServerCPU * 1e6 / float64(steady.Requests)
		}
	}
	uploaded := int64(0)
	for _, one := range r.results {
		uploaded += one.UploadBytes
	}
	if r.decisions > 0 {
		h.DecisionBytes = float64(uploaded) / float64(r.decisions)
	}
	if used, err := cputime.Of(os.Getpid()); err == nil {
		h.MachineCPU = used.Seconds()
	}
	if s, err := f.receiver.summary(); err == nil && s.Reports > 0 {
		h.ReceivedReports, h.ReportBytes = s.Reports, float64(s.Bytes)/float64(s.Reports)
	}
	return h
}

// summary prints the headline.
func (r *report) summary(f *fleet) {
	h := r.headline(f)
	if r.o.asJSON {
		r.line(map[string]any{"summary": h})
		return
	}
	fmt.Fprintf(r.w, `
%d machines that poll every %.0f to %.0f s
  have a new policy after        %.1f s (all), within one poll
  have it after an outage in     %.1f s, with at most %d polls in a second
  poll, when nothing is new,     %.0f times a second, %.1f %% answered with 304, %.0f bytes a request, %.0f µs of nginx
  report their status            %.2f times a poll, %.0f bytes each
  send their log                 with %.0f bytes a decision
A machine takes %.0f KiB and %.1f goroutines here, a store of rules %.1f MiB; this process had %.0f MiB with all machines, and used %.0f s of processors.
Every check held (%s).
`, h.Machines, h.PollSeconds, 2*h.PollSeconds, h.RolloutAll, h.RecoveredAll, h.PeakReturn, h.PollsPerSecond, 100*h.NotModified, h.BytesPerPoll, h.ServerMicros,
		h.ReportsPerPoll, h.ReportBytes, h.DecisionBytes, h.MachineKiB, h.Goroutines, h.StoreMiB, h.ResidentMiB, h.MachineCPU, time.Now().UTC().Format(time.DateOnly))
}
