package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// allocations are what a process has allocated since it started, or for a request.
type allocations struct {
	Count float64 `json:"allocations"`
	Bytes float64 `json:"bytes"`
}

// permdAllocations asks an instrumented daemon.
func permdAllocations(ctx context.Context, socket string) (allocations, error) {
	body, err := get(ctx, socket, "/memory")
	if err != nil {
		return allocations{}, err
	}
	var m struct{ Mallocs, TotalAlloc float64 }
	err = json.Unmarshal(body, &m)
	return allocations{m.Mallocs, m.TotalAlloc}, err
}

// opaAllocations asks OPA's server for its metrics.
func opaAllocations(ctx context.Context, socket string) (allocations, error) {
	var a allocations
	body, err := get(ctx, socket, "/metrics")
	if err != nil {
		return a, err
	}
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "go_memstats_mallocs_total":
			a.Count, err = strconv.ParseFloat(value, 64)
		case "go_memstats_alloc_bytes_total":
			a.Bytes, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return a, err
		}
	}
	if a.Count == 0 {
		return a, errors.New("OPA's metrics have no allocations")
	}
	return a, nil
}

// perRequest measures what a series' server allocates for a request, its whole process
// included.
func (w *world) perRequest(ctx context.Context, s *series, n *numbers, look func(context.Context) (allocations, error)) (allocations, error) {
	const requests = 2000
	conns, err := w.servers[s.Server].connections(1)
	if err != nil {
		return allocations{}, err
	}
	for _, most := range []int{requests / 10, requests} { // the first fill pools and caches
		before, err := look(ctx)
		if err != nil {
			return before, err
		}
		if _, err := conns[0].drive(n.next(s), s.want, time.Now().Add(patience), most, nil); err != nil {
			return before, err
		}
		after, err := look(ctx)
		if err != nil || most == requests {
			return allocations{(after.Count - before.Count) / requests, (after.Bytes - before.Bytes) / requests}, err
		}
	}
	return allocations{}, nil
}

// allocated is what the server of a series allocates for a request.
type allocated struct {
	Server   string `json:"server"`
	Kind     string `json:"kind"`
	Size     string `json:"size"`
	Repeated bool   `json:"repeated"`
	allocations
}

// allocations measures what permd and OPA's server allocate for each kind of requests.
func (p *plan) allocations(ctx context.Context) ([]allocated, error) {
	var out []allocated
	var n numbers
	measure := func(server, kind, size string, repeated bool, look func(context.Context) (allocations, error)) error {
		s := p.make(server, kind, size, repeated, 1)
		got, err := p.world.perRequest(ctx, s, &n, look)
		out = append(out, allocated{server, kind, size, repeated, got})
		return err
	}
	for _, kind := range kinds {
		if p.counted != "" {
			look := func(ctx context.Context) (allocations, error) { return permdAllocations(ctx, p.counted) }
			for _, size := range []string{small, big} {
				for _, repeated := range []bool{false, true} {
					if err := measure(serverCounted, kind, size, repeated, look); err != nil {
						return nil, err
					}
				}
			}
		}
		if p.opa != "" {
			look := func(ctx context.Context) (allocations, error) {
				return opaAllocations(ctx, p.world.servers[serverOPA].socket)
			}
			if err := measure(serverOPA, kind, small, false, look); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
