package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/download"
	"github.com/open-policy-agent/opa/v1/metrics"

	"github.com/permd/permd/policy/bundles"
)

// fileLoader reads a bundle from a file again and again: OPA's own reads it once.
type fileLoader struct {
	path    string
	every   time.Duration
	process func(context.Context, download.Update) error
	stop    context.CancelFunc
	done    chan struct{}
	last    []byte // what was taken
}

func newFileLoader(path string, every time.Duration, process func(context.Context, download.Update) error) *fileLoader {
	return &fileLoader{path: path, every: every, process: process, done: make(chan struct{})}
}

// Start implements loader.
func (l *fileLoader) Start(context.Context) {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() {
		defer close(l.done)
		tick := time.NewTicker(l.every)
		defer tick.Stop()
		for {
			l.read(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}

func (l *fileLoader) read(ctx context.Context) {
	u := download.Update{Metrics: metrics.New()}
	data, err := readFile(l.path)
	switch {
	case err != nil:
		u.Error = err
	case l.last != nil && bytes.Equal(data, l.last):
	default:
		u.Bundle, u.Raw, u.Size = &bundle.Bundle{}, bytes.NewReader(data), len(data)
	}
	if l.process(ctx, u) == nil && u.Bundle != nil {
		l.last = data
	}
}

// readFile reads a file that may be anything.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, bundles.MaxArchive+1))
	if err == nil {
		err = bundles.Check(data)
	}
	return data, err
}

// Stop implements loader.
func (l *fileLoader) Stop(context.Context) {
	if l.stop == nil {
		return
	}
	l.stop()
	<-l.done
}

// SetCache implements loader. What was not taken is read again.
func (l *fileLoader) SetCache(string) {}
