package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/permd/permd/policy/bundles"
)

// limits are what a service's client accepts of its server.
type limits struct {
	https      bool // nothing is sent without encryption, also where the server says so
	oci        bool // of a registry, whose other answers are JSON
	validators *validators
	reported   *reported
}

// bounded is the transport of a service's client. OPA reads an answer as long as it comes, also
// one to a report, and unpacks what it holds; here an answer is read as a whole first, within a time
// and a size, and examined: what is read from a service are bundles.
type bounded struct {
	next http.RoundTripper
	limits
}

// readWithin is how long a server may take for an answer, in addition to the time for which it
// was asked to wait.
var readWithin = 30 * time.Second

// sendWithin is how long a report or a part of the log may take to be sent and answered.
var sendWithin = time.Minute

// maxAnswer bounds what is read of the answer to what was sent, in bytes. Only its status and its
// beginning count, so the rest of a longer one is not read.
const maxAnswer = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.roundTrip(req)
	b.reported.note(req, resp, err)
	return resp, err
}

func (b *bounded) roundTrip(req *http.Request) (*http.Response, error) {
	if b.https && req.URL.Scheme != "https" {
		return nil, errors.New("the server leads to an address without encryption, " + req.URL.Host)
	}
	req, of := b.validators.prepare(req)
	within, most := readWithin+asked(req), int64(bundles.MaxArchive)
	download := req.Method == http.MethodGet || req.Method == http.MethodHead
	if !download {
		within, most = sendWithin, maxAnswer
	}
	slow := fmt.Errorf("the server did not answer in full within %v", within)
	ctx, cancel := context.WithTimeoutCause(req.Context(), within, slow)
	defer cancel()
	resp, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, orCause(ctx, slow, err)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the answer was cut off")
		}
		if err = orCause(ctx, slow, err); download {
			return nil, err
		}
		// The status counts all the same, and for how long the service wants to be left alone.
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(data), failing{err}))
		return resp, nil
	}
	if download && int64(len(data)) > most {
		return nil, fmt.Errorf("the answer is larger than %d MiB", most>>20)
	}
	of.note(resp)
	if req.Method == http.MethodGet && resp.StatusCode == http.StatusOK && (!b.oci || bytes.HasPrefix(data, []byte{0x1f, 0x8b})) {
		if err := bundles.Check(data); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements [io.Reader].
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// orCause returns why a context has ended, or else the error.
func orCause(ctx context.Context, cause, err error) error {
	if errors.Is(context.Cause(ctx), cause) {
		return cause
	}
	return err
}

// waitPreference begins the preference of a request that the server waits for news.
const waitPreference = "wait="

// asked returns how long a request asks the server to wait for news.
func asked(req *http.Request) time.Duration {
	for _, p := range strings.Split(req.Header.Get("Prefer"), ";") {
		if text, ok := strings.CutPrefix(p, waitPreference); ok {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// checkFiles returns an error if a file with a secret can be read or written by others.
func (s service) checkFiles(owners []uint32) error {
	for _, name := range s.files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if err := checkSecret(info, owners); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return nil
}

func checkSecret(info fs.FileInfo, owners []uint32) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return errors.New("is not a regular file")
	case mode.Perm()&0o037 != 0:
		return fmt.Errorf("holds a secret, and can be read or written by others (mode %04o)", mode.Perm())
	case !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()) && !slices.Contains(owners, st.Uid):
		return errors.New("belongs to another user")
	}
	return nil
}
