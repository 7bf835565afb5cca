package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// goServer serves as nginx does, in this process, where nginx is missing. Its processor time is
// not known.
type goServer struct {
	site  *site
	proxy http.Handler
	addr  string
	log   *os.File
	cert  tls.Certificate

	server *http.Server
	done   chan struct{}

	mu    sync.Mutex
	hangs chan struct{} // closed when it goes on; nil if it answers
}

type connKey struct{}

func newGoServer(s *site, receiver string) (*goServer, error) {
	to, err := url.Parse("http://" + receiver)
	if err != nil {
		return nil, err
	}
	g := &goServer{site: s, proxy: httputil.NewSingleHostReverseProxy(to)}
	if g.addr, err = freeAddress(); err != nil {
		return nil, err
	}
	if g.cert, err = tls.LoadX509KeyPair(s.certificate(), s.certificateKey()); err != nil {
		return nil, err
	}
	g.log, err = os.Create(g.accessLog())
	return g, err
}

func (g *goServer) address() string   { return g.addr }
func (g *goServer) accessLog() string { return filepath.Join(g.site.dir, "access.log") }

func (g *goServer) cpu() (time.Duration, error) {
	return 0, errors.New("the file server is a part of this process")
}

func (g *goServer) start(context.Context) error {
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		return err
	}
	g.server = &http.Server{
		Handler: g, TLSConfig: &tls.Config{Certificates: []tls.Certificate{g.cert}}, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, new(int))
		},
	}
	done := make(chan struct{})
	g.done = done
	go func() {
		defer close(done)
		_ = g.server.ServeTLS(l, "", "") // it ends when it is stopped
	}()
	return nil
}

func (g *goServer) stop() error {
	if g.server == nil {
		return nil
	}
	err := g.server.Close()
	<-g.done
	g.server = nil
	return err
}

func (g *goServer) hang(yes bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case yes && g.hangs == nil:
		g.hangs = make(chan struct{})
	case !yes && g.hangs != nil:
		close(g.hangs)
		g.hangs = nil
	}
	return nil
}

// counted counts what is sent.
type counted struct {
	http.ResponseWriter
	status int
	sent   int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(data []byte) (int, error) {
	c.sent += len(data)
	return c.ResponseWriter.Write(data)
}

// ServeHTTP answers as nginx does: files have an ETag of their time and size.
func (g *goServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	hangs := g.hangs
	g.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-r.Context().Done():
			return
		}
	}
	start, out := time.Now(), &counted{ResponseWriter: w, status: http.StatusOK}
	if r.Method == http.MethodPost {
		g.proxy.ServeHTTP(out, r)
	} else {
		name := filepath.Join(g.site.www(), filepath.Base(r.URL.Path))
		if info, err := os.Stat(name); err == nil {
			out.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x-%x", info.ModTime().Unix(), info.Size())))
		}
		http.ServeFile(out, r, name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 1
	if count, ok := r.Context().Value(connKey{}).(*int); ok {
		*count++
		n = *count
	}
	fmt.Fprintf(g.log, "%.3f %s %s %s %d %d %d %.3f %d\n", float64(time.Now().UnixMilli())/1000, "127.0.0.1", r.Method, r.URL.Path, out.status, out.sent, max(0, r.ContentLength), time.Since(start).Seconds(), n)
}
