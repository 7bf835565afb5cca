package reviewweb

import (
	"bufio"
	"fmt"
	"net"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestAnswering: while the daemon is told of an answer, no watching page replaces the question of
// the page that answers, though the daemon may say first that it has ended. If the answer does not
// count, the page hears of the question again.
func TestAnswering(t *testing.T) {
	s := startPages(t, "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "admin.sock")
	t.Setenv("PERMD_ADMIN_SOCKET", path)
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	told, reply := make(chan struct{}), make(chan string)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewScanner(c); in.Scan(); {
					var call struct {
						ID     int    `json:"id"`
						Method string `json:"method"`
					}
					if err := strictjson.Unmarshal(in.Bytes(), &call); err != nil {
						continue
					}
					said := `"error":{"code":-32601,"message":"none"}`
					if call.Method == "permd/questions.deny" {
						told <- struct{}{}
						said = <-reply
					}
					fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", call.ID, said)
				}
			}()
		}
	}()
	gone := func() bool {
		var n news
		s.questionNews(t.Context(), &n, state{}, []string{"q"})
		return len(n.Gone) > 0
	}
	for _, tt := range []struct {
		reply, says string
		gone        bool
	}{
		{`"result":{"stored":[]}`, "Denied.", false},
		{`"error":{"code":-32602,"message":"no width"}`, "does not count", true},
	} {
		s.watch.own = nil
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := httptest.NewRequest("POST", "/questions/q", nil)
			r.PostForm = url.Values{"answer": {"deny"}}
			s.answer(w, r, "q")
		}()
		<-told
		if gone() {
			t.Errorf("%s: a page is told that the question has ended before its answer is", tt.says)
		}
		reply <- tt.reply
		<-done
		if !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s: the page shows %s", tt.says, w.Body)
		}
		if got := gone(); got != tt.gone {
			t.Errorf("%s: afterwards the question is gone: %t", tt.says, got)
		}
	}
}
