package decisionlogs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// statusError is an answer of the service that acknowledges nothing.
type statusError struct {
	status int
	after  time.Duration // by its Retry-After, 0 for none
	why    string
}

func (e *statusError) Error() string {
	if e.why != "" {
		return "the service " + e.why
	}
	return fmt.Sprintf("the service answered %d %s", e.status, http.StatusText(e.status))
}

// retryAfter returns for how long the service wants to be left alone.
func retryAfter(err error) time.Duration {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s.after
	}
	return 0
}

// send sends events in their order, as many at once as an upload may have.
func (u *Uploader) send(ctx context.Context, items []item) error {
	for len(items) > 0 {
		n, events, body, err := pack(items, u.uploadLimit())
		if err != nil {
			return err
		}
		if events > 0 {
			err = u.post(ctx, body)
			if s, ok := errors.AsType[*statusError](err); ok && s.status == http.StatusRequestEntityTooLarge && u.smaller(items[:n], events, len(body)) {
				continue
			}
		}
		if err != nil {
			return err
		}
		u.count(func(c *Counts) int64 { c.Events += int64(events); return 0 })
		for i := range items[:n] {
			u.passed(&items[i])
		}
		if events > 0 {
			u.cursor.Time = u.o.Now().UTC()
		}
		if err := u.keep(); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// passed moves the cursor past an event.
func (u *Uploader) passed(it *item) {
	if it.after.Chain != u.cursor.Chain {
		u.cursor.Sent = 0
	}
	u.cursor.Position = it.after
	u.cursor.Lost += it.lost
	if it.lost > 0 {
		u.count(func(c *Counts) int64 { c.Lost += it.lost; return 0 })
	}
	if it.data != nil && it.seq != 0 {
		u.cursor.Sent = it.seq
	}
	if it.short {
		u.count(func(c *Counts) int64 { c.Shortened++; return 0 })
	}
}

func (u *Uploader) uploadLimit() int {
	if u.limit > 0 {
		return u.limit
	}
	return u.target.Config.UploadLimit
}

// smaller makes the next upload smaller than one that the service found too large. It reports
// whether that is possible.
func (u *Uploader) smaller(items []item, events, size int) bool {
	if events > 1 {
		u.limit = max(minUploadLimit/4, min(size, u.uploadLimit())/2)
		return true
	}
	for i := range items {
		if it := &items[i]; it.data != nil && !it.short {
			it.data, it.short = shorten(it.data), true
			return true
		}
	}
	return false
}

// pack compresses the first events, as many as fit into limit bytes, and returns how many items
// that are, and how many of these are events. One that does not fit alone is shortened.
func pack(items []item, limit int) (n, events int, body []byte, err error) {
	const rest = 32 // what ends the array and the stream
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for n < len(items) {
		it := &items[n]
		if it.data == nil {
			n++
			continue
		}
		if events == 0 {
			_, err = z.Write([]byte{'['})
		} else {
			_, err = z.Write([]byte{','})
		}
		if err == nil {
			if _, err = z.Write(it.data); err == nil {
				err = z.Flush()
			}
		}
		if err != nil {
			return 0, 0, nil, err
		}
		if out.Len()+rest > limit {
			break
		}
		n, events = n+1, events+1
	}
	if events == 0 && n < len(items) {
		if it := &items[n]; !it.short {
			it.data, it.short = shorten(it.data), true
			return pack(items, limit)
		}
		n, events = n+1, 1 // there is nothing smaller to send
	}
	out.Reset()
	z.Reset(&out)
	_, err = z.Write([]byte{'['})
	first := true
	for i := range items[:n] {
		if items[i].data == nil || err != nil {
			continue
		}
		if !first {
			_, err = z.Write([]byte{','})
		}
		first = false
		if err == nil {
			_, err = z.Write(items[i].data)
		}
	}
	if err == nil {
		_, err = z.Write([]byte{']'})
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return 0, 0, nil, fmt.Errorf("compressing events: %w", err)
	}
	return n, events, out.Bytes(), nil
}

// post sends one upload. Only what certainly is the service's own acknowledgement is one.
func (u *Uploader) post(ctx context.Context, body []byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	defer func() {
		u.count(func(c *Counts) int64 {
			if err == nil {
				c.Uploads++
			} else {
				c.Failed++
			}
			return 0
		})
	}()
	resp, err := u.target.Post(ctx, u.target.Config.Path, body)
	if err != nil {
		return fmt.Errorf("sending the log: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return &statusError{status: resp.StatusCode, after: after(resp.Header.Get("Retry-After"), u.o.Now())}
	case resp.Request != nil && resp.Request.Method != http.MethodPost:
		return &statusError{status: resp.StatusCode, why: "sent the log elsewhere, where it was not taken"}
	case strings.HasPrefix(strings.TrimSpace(string(start)), "<"):
		// A network's own page in the place of the service's answer.
		return &statusError{status: resp.StatusCode, why: "answered with a page, as a network does that wants a login first"}
	case err != nil:
		return fmt.Errorf("reading the service's answer: %w", err)
	}
	return nil
}

// after reads a Retry-After header: seconds, or a time.
func after(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(0, time.Duration(n)*time.Second), maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}
