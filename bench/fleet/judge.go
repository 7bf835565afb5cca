package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/rego"
)

// stores opens stores of rules, as a daemon has one. The tables that all of them read are parsed
// once.
type stores struct {
	table    *programs.Table
	profiles *tools.Profiles
}

func newStores() (*stores, error) {
	table, err := programs.Shipped()
	if err != nil {
		return nil, err
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	return &stores{table, profiles}, err
}

// open opens a store that begins with delivered rules, or without any.
func (s *stores) open(ctx context.Context, b *bundles.Bundle) (*policy.Store, error) {
	delivered := &policy.Delivered{Missing: "no bundle was taken yet"}
	if b != nil {
		delivered = &policy.Delivered{Files: b.Files}
	}
	return policy.Open(ctx, policy.Options{
		Delivered: delivered, UID: uint32(os.Geteuid()), Base: rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Table: s.table,
		Profiles: rego.Profiles(), ParsedProfiles: s.profiles,
	})
}

// judge says whether the rules of bundles are good: each is compiled and tested once, for all
// machines without a store of their own.
type judge struct {
	store *policy.Store

	mu    sync.Mutex
	known map[string]*verdict // by the bundle's digest
	took  time.Duration       // of the last that was examined
}

type verdict struct {
	once sync.Once
	err  error
}

func newJudge(ctx context.Context, s *stores) (*judge, error) {
	store, err := s.open(ctx, nil)
	return &judge{store: store, known: map[string]*verdict{}}, err
}

// deliver returns why a store would not take the rules of a bundle, or else has it kept.
func (j *judge) deliver(ctx context.Context, b *bundles.Bundle, keep func() error) error {
	j.mu.Lock()
	v := j.known[b.Digest]
	if v == nil {
		v = new(verdict)
		j.known[b.Digest] = v
	}
	j.mu.Unlock()
	v.once.Do(func() { v.err = j.store.Deliver(ctx, b.Files, nil) })
	if v.err != nil {
		return v.err
	}
	return keep()
}

// examine compiles and tests the rules of a bundle.
func (j *judge) examine(ctx context.Context, data []byte) error {
	b, err := bundles.Read(bundles.Org, data, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	err = j.deliver(ctx, b, func() error { return nil })
	j.took = time.Since(start)
	return err
}

// errDigest says that a store has other rules than the one of the judge.
var errDigest = errors.New("a store has other rules than another with the same bundle")

// snapshot returns the rules of a store.
func snapshot(s *policy.Store) (decisions.Snapshot, error) {
	return s.Snapshot(uint32(os.Geteuid()), "")
}

// sameRules returns an error if two stores would not decide by the same rules.
func sameRules(x, y *policy.Store) error {
	a, err := snapshot(x)
	if err != nil {
		return err
	}
	b, err := snapshot(y)
	if err != nil {
		return err
	}
	if a.Digest() != b.Digest() {
		return errDigest
	}
	return nil
}
