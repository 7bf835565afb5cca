// Command decisionlogs takes the decision logs of permd, or of OPA, and keeps them in SQLite. It
// listens on the loopback alone; for other machines put a server with TLS before it.
//
//	go run ./examples/receivers/decisionlogs -token /etc/receiver/token -db audit.db
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/permd/permd/examples/receivers/decisionlogs/receiver"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8282", "listen at this `address` of the loopback")
	db := flag.String("db", "audit.db", "keep events in this `file`")
	token := flag.String("token", "", "the `file` with the token that senders must have")
	flag.Parse()
	if err := run(*listen, *db, *token); err != nil {
		log.Fatal(err)
	}
}

func run(listen, db, tokenFile string) error {
	if tokenFile == "" {
		return errors.New("name a file with -token: without one, anybody on this machine could write into the log")
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	store, err := receiver.Open(db)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	l, err := net.Listen("tcp", listen) //nolint:forbidigo // not a Unix socket
	if err != nil {
		return err
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("%s is not on the loopback", listen)
	}
	handler, err := receiver.Handler(store, strings.TrimSpace(string(token)))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s, keeping events in %s\n", l.Addr(), db)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	return server.Serve(l)
}
