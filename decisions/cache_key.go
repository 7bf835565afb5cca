package decisions

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"reflect"
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// appendRequest appends the key of a request: every field that cacheableRequest leaves
// in it, so that two requests have one key only if they are equal. Each text is preceded
// by its length and each list by its number of elements, so that no two sequences of
// fields have the same bytes. It returns false if the request has no distinguishing key,
// or is too long for a cache.
func appendRequest(b []byte, r *Request) ([]byte, bool) {
	c := &r.Call
	if !reflect.ValueOf(&c.Before).Elem().IsZero() {
		return b, false // changes by earlier calls are not part of the key
	}
	if c.Announced != nil {
		return b, false // nor is what else the call was said to be
	}
	size := len(c.Input) + len(c.Claims.Meta)
	for _, t := range c.Claims.Texts {
		size += len(t)
	}
	if size > maxCachedBytes {
		return b, false
	}
	k := keyer(slices.Grow(b, size))
	k.text(toolOfID(c.ID))
	k.texts(c.Protocol, c.Tool.Name, c.Tool.Server, c.Tool.Source, c.Tool.Version, c.InputFrom, c.ReplyTo)
	k.flag(c.Tool.Destructive)
	k.flag(c.Tool.Trusted)
	k.flag(c.Tool.Unlisted)
	k.declared(c.Declared)
	k.bytes(c.Input)
	k.credentials(&c.Credentials)
	k.claims(&c.Claims)
	k.texts(c.Agent.Name, c.Agent.Version, c.Client.Name, c.Client.Version, c.Cwd)
	k.list(c.Roots)
	k.user(&c.User)
	k.number(len(c.Marks))
	for _, m := range c.Marks {
		k.texts(string(m.Kind), m.Why, m.From)
	}
	k.number(len(c.Defects))
	for _, d := range c.Defects {
		k.texts(d.Code, d.At, d.Text)
	}
	k.texts(c.Incomplete, c.Confined)
	k.flag(c.LiveShell)
	k.list(c.Folders)
	k.list(c.Activated)
	k.number(int(r.Peer.UID))
	k.text(r.Session.ID)
	k.list(r.Session.Ancestors)
	k.texts(r.Session.Mode, r.HarnessAsks, r.Forbidden)
	return k, len(k) <= maxCachedBytes
}

// shortened returns what a cache keeps of a key: the key itself, or the digest of a long
// one, which it appends. A stored key is longer than a digest, so the two never
// compare equal, and digests of different keys are equal only if SHA-256 has a collision.
func shortened(key []byte) (whole, short []byte) {
	if len(key) <= maxKeyBytes {
		return key, key
	}
	sum := sha256.Sum256(key)
	whole = append(key, sum[:]...)
	return whole, whole[len(key):]
}

// keyer is a key under construction.
type keyer []byte

func (k *keyer) number(n int) { *k = binary.AppendVarint(*k, int64(n)) }

func (k *keyer) flag(b bool) {
	n := 0
	if b {
		n = 1
	}
	k.number(n)
}

func (k *keyer) text(s string) {
	k.number(len(s))
	*k = append(*k, s...)
}

func (k *keyer) texts(list ...string) {
	for _, s := range list {
		k.text(s)
	}
}

func (k *keyer) list(list []string) {
	k.number(len(list))
	k.texts(list...)
}

// bytes appends v; nil and an empty value differ.
func (k *keyer) bytes(v []byte) {
	k.flag(v != nil)
	k.number(len(v))
	*k = append(*k, v...)
}

func (k *keyer) declared(d *effects.DeclaredTool) {
	k.flag(d != nil)
	if d == nil {
		return
	}
	k.text(d.Name)
	k.number(len(d.Members))
	for _, m := range d.Members {
		k.texts(m.Name, m.Means)
	}
}

func (k *keyer) claims(c *effects.Claims) {
	k.texts(c.Kind, c.Title, c.Prompt, c.User, c.TraceID, c.Status)
	k.number(len(c.Locations))
	for _, l := range c.Locations {
		k.texts(l.Path, l.From)
	}
	k.number(len(c.Diffs))
	for _, d := range c.Diffs {
		k.texts(d.Path, d.OldPath, d.Operation, d.From)
	}
	k.list(c.Texts)
	k.bytes(c.Meta)
	k.list(c.Options)
	k.flag(c.Only)
	k.flag(c.Retracted)
}

func (k *keyer) credentials(g *effects.Credentials) {
	k.list(g.Secrets)
	k.number(len(g.Authorizations))
	for _, a := range g.Authorizations {
		k.text(a.ID)
		k.list(a.Scopes)
	}
}

func (k *keyer) user(u *effects.User) {
	k.number(int(u.UID))
	k.texts(u.Name, u.Home)
	k.list(u.Groups)
	k.number(len(u.Env))
	names := slices.AppendSeq(make([]string, 0, 16), maps.Keys(u.Env))
	slices.Sort(names)
	for _, name := range names {
		k.texts(name, u.Env[name])
	}
}
