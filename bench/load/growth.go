package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/socket/client"
)

// usage is what the daemon uses, by /proc and by its metrics.
type usage struct {
	RSS         float64 `json:"rss"`  // VmRSS, in MiB like the following
	HWM         float64 `json:"hwm"`  // VmHWM: the peak of VmRSS
	Anon        float64 `json:"anon"` // RssAnon: heap and stacks
	File        float64 `json:"file"` // RssFile: the program itself
	Threads     int     `json:"threads"`
	Descriptors int     `json:"descriptors"`
	Goroutines  int     `json:"goroutines"`
}

// usage reads what the daemon uses now.
func (d *daemon) usage(ctx context.Context) (usage, error) {
	u, err := d.memory()
	if err != nil {
		return u, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	u.Descriptors = len(open)
	u.Goroutines, err = d.goroutines(ctx)
	return u, err
}

// memory reads what the kernel tells of the daemon's memory and threads.
func (d *daemon) memory() (usage, error) {
	var u usage
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		if err != nil {
			continue // not a line of those below
		}
		mib := float64(number) / 1024
		switch name {
		case "VmRSS":
			u.RSS = mib
		case "VmHWM":
			u.HWM = mib
		case "RssAnon":
			u.Anon = mib
		case "RssFile":
			u.File = mib
		case "Threads":
			u.Threads = number
		}
	}
	if u.RSS == 0 {
		return u, errors.New("the daemon has ended")
	}
	return u, nil
}

// goroutines asks the daemon's metrics.
func (d *daemon) goroutines(ctx context.Context) (int, error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.http)
	}}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := t.RoundTrip(req)
	if err != nil {
		return 0, fmt.Errorf("reading the metrics: %w", err)
	}
	defer answer.Body.Close()
	for s := bufio.NewScanner(answer.Body); s.Scan(); {
		if value, ok := strings.CutPrefix(s.Text(), "permd_goroutines "); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("the metrics have no permd_goroutines (%s)", answer.Status)
}

// findHTTP asks the daemon where it listens for HTTP.
func (d *daemon) findHTTP(ctx context.Context) error {
	c, err := client.Dial(ctx, d.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	var state struct {
		HTTP string `json:"http"`
	}
	if err := c.Call(ctx, "permd/status", struct{}{}, &state); err != nil {
		return err
	}
	if d.http = state.HTTP; !strings.HasPrefix(d.http, "/") {
		return errors.New(`the metrics need a daemon with listen = "unix" under [http]`)
	}
	return nil
}

// quantity is something that must not grow.
type quantity struct {
	name string
	of   func(usage) float64
	// Growth that is noise: this part of the value before, and this much.
	part, plus float64
}

// The memory of a process with a garbage collector varies with the moment at which it is
// looked at; what leaks at the rate of requests is many times these bounds within minutes.
var quantities = []quantity{
	{"resident memory in MiB", func(u usage) float64 { return u.RSS }, 0.15, 16},
	{"goroutines", func(u usage) float64 { return float64(u.Goroutines) }, 0.15, 32},
	{"descriptors", func(u usage) float64 { return float64(u.Descriptors) }, 0.10, 16},
}

// minSamples is how many samples are enough to say that something grows.
const minSamples = 9

// growth returns an error if something is more in the last third of the samples than in
// the second, by the median. In the first third caches fill.
func growth(samples []usage) error {
	third := len(samples) / 3
	if len(samples) < minSamples {
		return fmt.Errorf("only %d samples: too short to see what grows", len(samples))
	}
	var errs []error
	for _, q := range quantities {
		before, after := median(samples[third:2*third], q.of), median(samples[2*third:], q.of)
		if after > before*(1+q.part)+q.plus {
			errs = append(errs, fmt.Errorf("the %s grow from %.1f to %.1f", q.name, before, after))
		}
	}
	return errors.Join(errs...)
}

func median(samples []usage, of func(usage) float64) float64 {
	var values []float64
	for _, u := range samples {
		values = append(values, of(u))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// left returns an error if goroutines or descriptors are left of clients that are gone.
func left(idle, now usage) error {
	const few = 16 // of the daemon's own work
	if now.Goroutines > idle.Goroutines+few || now.Descriptors > idle.Descriptors+few {
		return fmt.Errorf("without clients there are %d goroutines and %d descriptors; before the first there were %d and %d",
			now.Goroutines, now.Descriptors, idle.Goroutines, idle.Descriptors)
	}
	return nil
}

// sampleEvery is the time between two samples.
const sampleEvery = time.Second

// disk returns the size of a database with its log, in MiB.
func (d *daemon) disk(name string) float64 {
	total := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(filepath.Join(d.home(), ".local", "share", "permd", name+suffix)); err == nil {
			total += info.Size()
		}
	}
	return float64(total) / (1 << 20)
}
