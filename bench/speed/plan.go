package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/permd/permd/socket/acp"
)

// plan makes the servers and the series of the first table.
type plan struct {
	world     *world
	documents map[string][]byte // the input of the rules for a call, by its kind, with a marker
	all       []*series
	permd     string // the programs
	opa       string // "" if it is missing
	counted   string // the socket of the daemon that counts its allocations
}

// find returns a series, nil if it is not measured.
func (p *plan) find(server, kind, size string, repeated bool, clients int) *series {
	for _, s := range p.all {
		if s.Server == server && s.Kind == kind && s.Size == size && s.Repeated == repeated && s.Clients == clients {
			return s
		}
	}
	return nil
}

// add adds a series, unless its server does not run.
func (p *plan) add(server, kind, size string, repeated bool, clients int) {
	if p.world.servers[server] != nil {
		p.all = append(p.all, p.make(server, kind, size, repeated, clients))
	}
}

// make makes a series.
func (p *plan) make(server, kind, size string, repeated bool, clients int) *series {
	s := &series{Server: server, Kind: kind, Size: size, Repeated: repeated, Clients: clients}
	switch server {
	case serverOPA, serverOPALog:
		s.request, s.want = newTemplate(query(kind, p.documents[kind])), []byte(`"allow":["`)
	case serverHTTPEcho:
		s.request, s.want = newTemplate(query(kind, p.documents[kind])), []byte(`"input":{`)
	case serverEcho, serverFloor:
		s.request, s.want = newTemplate(line(acp.MethodRequestPermission, params(toolCall(kind, size, p.world.project)))), []byte(`"toolCallId"`)
	default:
		s.request, s.want = newTemplate(line(acp.MethodRequestPermission, params(toolCall(kind, size, p.world.project)))), []byte(`"optionId":"allow"`)
	}
	return s
}

// newPlan starts the servers.
func newPlan(ctx context.Context, w *world, o options, progress func(string)) (*plan, error) {
	p := &plan{world: w, documents: map[string][]byte{}}
	for name, what := range map[string]string{serverEcho: echoLines, serverFloor: echoFloor, serverHTTPEcho: echoHTTP} {
		if err := w.startEcho(ctx, name, what); err != nil {
			return nil, err
		}
	}
	if p.permd = o.program; p.permd == "" {
		progress("building permd")
		p.permd = filepath.Join(w.dir, "bin", "permd")
		if err := buildPermd(ctx, p.permd); err != nil {
			return nil, err
		}
	}
	for name, durability := range map[string]string{serverPermd: "process", serverPower: "power"} {
		if _, err := w.startPermd(ctx, name, p.permd, configuration{durability: durability, connections: o.mostClients()}); err != nil {
			return nil, err
		}
	}
	if err := p.makeDocuments(ctx); err != nil {
		return nil, err
	}
	if o.instruments {
		progress("building permd with instruments")
		if err := p.startInstrumented(ctx, o.mostClients()); err != nil {
			return nil, err
		}
	} else {
		w.missing = append(w.missing, "a build with instruments (allocations, and times without a journal)")
	}
	if o.opa {
		progress("building OPA")
		opa, err := buildOPA(ctx)
		if err != nil {
			w.missing = append(w.missing, err.Error())
		} else if err := p.openOPA(ctx, opa); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// startInstrumented starts a daemon that counts its allocations, and one without a
// journal for so many clients.
func (p *plan) startInstrumented(ctx context.Context, clients int) error {
	program, err := p.world.buildInstrumented(ctx)
	if err != nil {
		return err
	}
	p.counted = filepath.Join(p.world.dir, "memory.sock")
	if _, err := p.world.startPermd(ctx, serverCounted, program, configuration{connections: 1}, envSocket+"="+p.counted); err != nil {
		return err
	}
	_, err = p.world.startPermd(ctx, serverOff, program, configuration{connections: clients}, envJournal+"=off")
	return err
}

func (p *plan) makeDocuments(ctx context.Context) error {
	var requests []string
	for _, kind := range kinds {
		requests = append(requests, params(toolCall(kind, small, p.world.project)))
	}
	docs, err := documents(ctx, p.world.home, p.world.project, requests...)
	if err != nil {
		return fmt.Errorf("making the input of the rules: %w", err)
	}
	for i, kind := range kinds {
		p.documents[kind] = docs[i]
	}
	return nil
}

// openOPA starts OPA and makes sure that it decides as permd does.
func (p *plan) openOPA(ctx context.Context, program string) error {
	p.opa = program
	for _, name := range []string{serverOPA, serverOPALog} {
		if err := p.world.startOPA(ctx, name, program); err != nil {
			return err
		}
		server := p.world.servers[name]
		for _, kind := range kinds {
			answer, err := server.open[0].roundTrip(withNumber([]byte(query(kind, p.documents[kind])), firstNumber))
			if err == nil {
				err = allowed(answer)
			}
			if err != nil {
				return fmt.Errorf("asking OPA about a call of kind %s: %w", kind, err)
			}
		}
		// It logs a decision before it answers.
		log, err := os.ReadFile(server.log.Name())
		if err != nil {
			return err
		}
		if logs := bytes.Count(log, []byte(`"decision_id"`)); logs != map[string]int{serverOPALog: len(kinds)}[name] {
			return fmt.Errorf("%s has logged %d of %d decisions: %.400s", name, logs, len(kinds), log)
		}
	}
	return nil
}

// schedule lists the series.
func (p *plan) schedule(o options) {
	// The headline first: these take turns right after each other.
	p.add(serverEcho, command, small, false, 1)
	p.add(serverFloor, command, small, false, 1)
	p.add(serverPermd, command, small, false, 1)
	p.add(serverPermd, command, small, true, 1)
	p.add(serverHTTPEcho, command, small, false, 1)
	p.add(serverOPA, command, small, false, 1)
	p.add(serverOPALog, command, small, false, 1)
	p.add(serverOff, command, small, false, 1)
	for _, clients := range o.clients {
		p.add(serverEcho, command, small, false, clients)
		p.add(serverFloor, command, small, false, clients)
		p.add(serverPermd, command, small, false, clients)
		p.add(serverPermd, command, small, true, clients)
		p.add(serverHTTPEcho, command, small, false, clients)
		p.add(serverOPA, command, small, false, clients)
		p.add(serverOPALog, command, small, false, clients)
		p.add(serverOff, command, small, false, clients)
		p.add(serverPower, command, small, false, clients)
	}
	if o.headline {
		return
	}
	p.add(serverPower, command, small, false, 1)
	p.add(serverPower, command, small, true, 1)
	p.add(serverOff, command, small, true, 1)
	p.add(serverEcho, command, big, false, 1)
	for _, kind := range kinds {
		for _, size := range []string{small, big} {
			if kind == command && size == small {
				continue // in the headline
			}
			p.add(serverPermd, kind, size, false, 1)
			p.add(serverPermd, kind, size, true, 1)
		}
		if kind != command {
			p.add(serverOPA, kind, small, false, 1)
		}
	}
}
