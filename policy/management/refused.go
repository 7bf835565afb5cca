package management

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/download"

	"github.com/permd/permd/policy/bundles"
)

// A bundle that was refused is not downloaded again while the server says that it still has the
// same one: requests have its ETag in If-None-Match, as they otherwise have that of the bundle in
// force.

// downloadAgain is for how long the ETag of a refused bundle is believed. Web servers make ETags of
// a time and a size, which a corrected file can share with the refused one.
const downloadAgain = time.Hour

// refusal is a bundle that was refused.
type refusal struct {
	etag string
	why  error
	at   time.Time // when it was downloaded
	// data is the bundle if its signature was verified, or none is needed. It is examined again at
	// each attempt: the cause may be a disk that was full, a clock, a machine too busy for the
	// tests, or a file of the organisation's folder. nil means that its form or its signature was
	// refused, for which nothing counts but its bytes and the configured key.
	data []byte
}

// taken is a bundle that came into force, or was in force already.
type taken struct {
	revision, etag string
	size           int
}

// examine has the result of a download taken. It returns nil without an error if there is nothing
// that was not taken or refused before. The caller holds p.processing.
func (p *bundlePlugin) examine(ctx context.Context, u *download.Update) (*taken, error) {
	etag, r := p.validator.answered(), p.refused
	switch {
	case u.Error != nil:
		if etag != "" {
			p.refused = &refusal{etag: etag, why: u.Error, at: p.manager.clock()}
		}
		return nil, u.Error
	case u.Bundle != nil:
		// Its bytes are verified again by the rules of permd.
		data, err := io.ReadAll(u.Raw)
		if err != nil {
			return nil, err
		}
		revision, err := p.take(ctx, data)
		p.refused = nil
		if err == nil {
			return &taken{revision, u.ETag, u.Size}, nil
		}
		if etag != "" {
			p.refused = &refusal{etag: etag, why: err, at: p.manager.clock(), data: data}
		}
		return nil, err
	case r == nil:
		return nil, nil
	case !sameETag(u.ETag, r.etag):
		p.refused = nil // the server means another one, so the next request is for all of it
		return nil, r.why
	case r.data == nil:
		return nil, r.why
	}
	revision, err := p.take(ctx, r.data)
	if err != nil {
		r.why = err
		return nil, err
	}
	p.refused = nil
	return &taken{revision, r.etag, len(r.data)}, nil
}

// ask prepares the next request, and returns the ETag that it has. The caller holds p.processing.
func (p *bundlePlugin) ask() string {
	if r := p.refused; r != nil && p.manager.clock().Sub(r.at).Abs() >= downloadAgain {
		p.refused = nil
	}
	etag, wait := p.etag, true
	if r := p.refused; r != nil {
		etag, wait = r.etag, r.data == nil // what is examined again must not wait for news
	}
	p.validator.ask(etag, wait)
	return etag
}

// sameETag compares as If-None-Match does: a server that compresses may have made one of them weak.
func sameETag(a, b string) bool {
	return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// kindHeader has the kind of the bundle in the requests of OPA's downloader, which has no other way
// to tell the transport what a request is for. It is not sent.
const kindHeader = "Permd-Bundle"

// validators are those of the bundles that are downloaded. It is safe for concurrent use.
type validators struct {
	mu sync.Mutex
	of map[bundles.Kind]*validator
}

func (v *validators) set(kind bundles.Kind, to *validator) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = make(map[bundles.Kind]*validator)
	}
	v.of[kind] = to
}

// prepare returns a request as it is to be sent, and the validator of the bundle that it asks for,
// nil if it asks for none.
func (v *validators) prepare(req *http.Request) (*http.Request, *validator) {
	kind := req.Header.Get(kindHeader)
	if kind == "" {
		return req, nil
	}
	v.mu.Lock()
	of := v.of[bundles.Kind(kind)]
	v.mu.Unlock()
	req = req.Clone(req.Context())
	req.Header.Del(kindHeader)
	if of != nil {
		of.prepare(req.Header)
	}
	return req, of
}

// validator is the ETag of what a machine does not need again, and that of what it was sent: OPA's
// downloader tells neither of a bundle that it refuses, and goes on to send an ETag that is to be
// sent no more. It is safe for concurrent use.
type validator struct {
	mu   sync.Mutex
	etag string // for If-None-Match, "" for none
	now  bool   // the server is not asked to wait for news
	got  string // of the last answer that has a body in full, "" for none
}

// ask sets what the next request says.
func (v *validator) ask(etag string, wait bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.etag, v.now = etag, !wait
}

// prepare sets the headers of a request.
func (v *validator) prepare(h http.Header) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.got = ""
	h.Del("If-None-Match")
	if v.etag != "" {
		h.Set("If-None-Match", v.etag)
	}
	if v.now {
		all := strings.Split(h.Get("Prefer"), ";")
		kept := all[:0]
		for _, p := range all {
			if !strings.HasPrefix(p, waitPreference) {
				kept = append(kept, p)
			}
		}
		h.Set("Prefer", strings.Join(kept, ";"))
	}
}

// maxETag bounds an ETag that is kept, in bytes.
const maxETag = 1 << 10

// note notes an answer that was read in full. A nil validator notes nothing.
func (v *validator) note(resp *http.Response) {
	if v == nil || resp.StatusCode != http.StatusOK {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.got = resp.Header.Get("ETag"); len(v.got) > maxETag {
		v.got = ""
	}
}

// answered returns the ETag of the last answer if it had a body in full, "" for none.
func (v *validator) answered() (etag string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	etag, v.got = v.got, ""
	return etag
}
