package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
)

// profile is the profile of the shipped rules that is measured: the default.
const profile = settings.ProfileBalanced

// modules returns the rules as OPA gets them, by file: the shipped ones of the profile and
// mcpRule.
func modules() map[string]string {
	out := map[string]string{"user.rego": mcpRule}
	for name, text := range rego.Base() {
		if rego.InProfile(name, profile) && !strings.HasSuffix(name, "_test.rego") {
			out[strings.ReplaceAll(name, "/", "-")] = string(text)
		}
	}
	return out
}

// parts returns the parts of the input that some of the rules read: the daemon builds no
// others.
func parts() (input.Parts, error) {
	parsed := map[string]*ast.Module{}
	for name, text := range modules() {
		m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			return input.Parts{}, err
		}
		parsed[name] = m
	}
	c := ast.NewCompiler()
	if c.Compile(parsed); c.Failed() {
		return input.Parts{}, c.Errors
	}
	return input.PartsOf(c), nil
}

// watched is a snapshot that keeps what it was asked to evaluate.
type watched struct {
	decisions.Snapshot
	seen *[]decisions.Input
}

func (w watched) Evaluate(ctx context.Context, in *decisions.Input) (decisions.Findings, error) {
	*w.seen = append(*w.seen, *in)
	return w.Snapshot.Evaluate(ctx, in)
}

// documents returns the input documents that permd evaluates for permission requests, as
// JSON. It has the real engine decide them in this process, in a project of a home: the
// document of a daemon in that home is the same.
func documents(ctx context.Context, home, project string, requests ...string) (docs [][]byte, err error) {
	uid := uint32(os.Geteuid())
	rules, err := shipped.Open(profile, uid, time.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rules.Close()) }()
	snap, err := rules.With(ctx, shipped.User{Rego: mcpRule})
	if err != nil {
		return nil, err
	}
	need, err := parts()
	if err != nil {
		return nil, fmt.Errorf("compiling the rules for OPA: %w", err)
	}
	who := effects.User{UID: uid, Home: home, Env: map[string]string{"HOME": home}}
	if sys, err := user.Current(); err == nil {
		who.Name = sys.Username
	}
	var seen []decisions.Input
	fs := paths.OSFS{}
	deps := native.Deps{
		Sessions: &decisions.Sessions{FindProject: func(_ uint32, cwd string) string { return paths.FindProject(fs, cwd, home) }},
		Decider:  shipped.Engine(watched{snap, &seen}, fs, paths.Own{}, 0, time.Now(), func(c *decisions.Config) { c.Deadline = time.Minute }),
		Users:    func(uint32) effects.User { return who },
	}
	methods := socket.Methods{}
	native.Register(methods, deps)
	acp.Register(methods, deps)
	conn := &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uid, PID: int32(os.Getpid())}}
	send := func(method, params string) error {
		run, err := methods[method](conn, []byte(params))
		if err == nil && run != nil {
			_, err = run(ctx)
		}
		return err
	}
	if err := send(native.MethodSession, declaration(project)); err != nil {
		return nil, fmt.Errorf("declaring a session: %w", err)
	}
	for _, request := range requests {
		seen = nil
		if err := send(acp.MethodRequestPermission, request); err != nil {
			return nil, fmt.Errorf("deciding %s: %w", request, err)
		}
		if len(seen) == 0 || len(seen[0].All) != 1 {
			return nil, fmt.Errorf("not a call of one effect: %s", request)
		}
		doc, err := asJSON(input.Build(&seen[0], need))
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func asJSON(doc *ast.Term) ([]byte, error) {
	v, err := ast.JSON(doc.Value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
