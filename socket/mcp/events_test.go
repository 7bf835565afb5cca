package mcp

import (
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// eventsOf reads a whole stream as the HTML standard says it, without regard to bounds.
func eventsOf(stream string) (events []string, lastID string, retry time.Duration) {
	lines := regexp.MustCompile("\r\n|\r|\n").Split(strings.TrimPrefix(stream, "\ufeff"), -1)
	var data strings.Builder
	id := ""
	hasID := false
	name := ""
	for _, line := range lines[:len(lines)-1] { // what has no end is no line
		if line == "" {
			if hasID {
				lastID = id
			}
			if text := strings.TrimSuffix(data.String(), "\n"); text != "" {
				events = append(events, name+" "+text)
			}
			data.Reset()
			name, hasID = "", false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data.WriteString(value + "\n")
		case "event":
			name = value
		case "id":
			if id, hasID = value, true; !isHeader([]byte(id)) {
				id = ""
			}
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms >= 0 && ms < 1<<31 && !strings.ContainsAny(value, "+-") {
				retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	return events, lastID, retry
}

// FuzzEvents compares the events that are read, in whatever parts they come, with those of
// another reader.
func FuzzEvents(f *testing.F) {
	for _, stream := range []string{
		"data: a\n\n", "data:a\rdata: b\r\rid: 1\r\n\r\n", "\ufeffevent: x\nid: 7\nretry: 20\ndata\ndata: {}\n\ndata: half",
		": comment\n\nid: a\x00b\ndata: x\n\n", "data: a\r\n\ndata:  b\n\n", "id\n\n\n\nretry: -1\nretry: 1x\n\n", "id: 1\n", "data: x\n\r\n",
	} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		if len(stream) > 1<<16 {
			return
		}
		want, lastID, retry := eventsOf(stream)
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			e := newEventReader(r)
			var got []string
			for {
				ev, err := e.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ev.name+" "+string(ev.data))
			}
			if !slices.Equal(got, want) || e.lastID != lastID || e.retry != retry {
				t.Fatalf("%q: %q, id %q, %v; want %q, %q, %v", stream, got, e.lastID, e.retry, want, lastID, retry)
			}
		}
	})
}

// FuzzUpstreamAnswer has a server answer with any body: one answer to the request is read, and
// nothing that a reader of lines takes for more messages than there were.
func FuzzUpstreamAnswer(f *testing.F) {
	for _, tt := range unreadable {
		if len(tt.text) < 1000 {
			f.Add([]byte(tt.text), true)
			f.Add([]byte("data: "+tt.text+"\n\n"), false)
		}
	}
	f.Add([]byte(ponged), true)
	f.Add([]byte("data: "+ponged+"\n\n"), false)
	f.Fuzz(func(t *testing.T, body []byte, asJSON bool) {
		u := NewUpstream(UpstreamConfig{URL: new(url.URL), Say: func(string) {}})
		m, err := readMessage([]byte(pinged))
		if err != nil {
			t.Fatal(err)
		}
		p := &post{message: m, cancel: func(error) {}, answered: make(chan struct{})}
		u.open[m.id] = p
		go func() {
			if asJSON {
				u.deliverOnly(p, body)
			} else {
				_ = u.events(p, strings.NewReader(string(body)), &resumption{})
				u.notTaken(p, streamEnded)
			}
			_ = u.Close()
		}()
		text, err := io.ReadAll(u)
		if err != nil {
			t.Fatal(err)
		}
		answers := 0
		for line := range strings.Lines(string(text)) {
			if m, err := readMessage([]byte(strings.TrimSuffix(line, "\n"))); err == nil && m.isResponse() && m.id == p.message.id {
				answers++
			}
		}
		if answers == 0 || answers > 1 && asJSON {
			t.Errorf("%q: %d answers: %q", body, answers, text)
		}
		u.Wait()
	})
}
