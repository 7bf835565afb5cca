package mcp

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// overHTTP is set while all tests that have a world run a second time: its server is behind HTTP.
var overHTTP bool

func TestMain(m *testing.M) { goleak.VerifyTestMain(twice{m}) }

// withoutWorld are the tests that have no world: a second time they would be the same, and some
// take long.
const withoutWorld = "Fuzz.*|TestUpstream.*|TestCheckUpstream|TestUnreadable|TestDoubted|TestEnds|TestSlow.*|TestSilentDaemon|TestTorn|TestPins|TestPinsMeanwhile|" +
	"TestSeveralDefinitions|TestOnlyWhatIsDecided|TestLists"

type twice struct{ *testing.M }

func (m twice) Run() int {
	code := m.M.Run()
	if testing.Short() {
		fmt.Println("long: the tests with servers over HTTP; TestUpstream… are the quick ones")
		return code
	}
	if code != 0 || flag.Lookup("test.fuzz").Value.String() != "" || flag.Lookup("test.bench").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return code
	}
	overHTTP = true
	if skip := flag.Lookup("test.skip").Value; skip.String() == "" {
		if err := skip.Set("^(" + withoutWorld + ")$"); err != nil {
			panic(err)
		}
	}
	fmt.Println("with servers over HTTP:")
	return m.M.Run()
}

// httpServer is a server over HTTP that passes messages on to one over two streams. A response is
// sent in the stream of its request, all else in the stream of no request.
type httpServer struct {
	in io.Writer

	mu      sync.Mutex
	waiting map[string]chan string // by id
	other   chan string
}

// serveHTTP puts a server over two streams behind HTTP. end is called once the gateway has ended.
func serveHTTP(in io.WriteCloser, out io.ReadCloser) (serverIn io.WriteCloser, serverOut io.Reader, end func()) {
	s := &httpServer{in: in, waiting: map[string]chan string{}, other: make(chan string, 1000)}
	web := httptest.NewServer(s)
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				web.CloseClientConnections() // the server has ended
				return
			}
			s.send(strings.TrimSuffix(line, "\n"))
		}
	}()
	address, _ := url.Parse(web.URL)
	u := NewUpstream(UpstreamConfig{URL: address, Say: func(string) {}})
	u.listens = true
	u.running.Go(u.listen)
	return u, u, func() {
		u.Close()
		u.Wait()
		in.Close()
		out.Close()
		web.CloseClientConnections()
		web.Close()
	}
}

// send sends a line of the server.
func (s *httpServer) send(line string) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if json.Unmarshal([]byte(line), &m) == nil && m.Method == "" && s.waiting[string(m.ID)] != nil {
		s.waiting[string(m.ID)] <- line
		delete(s.waiting, string(m.ID))
		return
	}
	s.other <- line
}

func (s *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines := s.other
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err != nil || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		lines = make(chan string, 1)
		if m.Method != "" && m.ID != nil {
			s.mu.Lock()
			s.waiting[string(m.ID)] = lines
			s.mu.Unlock()
			defer func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.waiting[string(m.ID)] == lines {
					delete(s.waiting, string(m.ID))
				}
			}()
		}
		if _, err := s.in.Write(body); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if m.Method == "" || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case line := <-lines:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
			w.(http.Flusher).Flush()
			if r.Method == http.MethodPost {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
