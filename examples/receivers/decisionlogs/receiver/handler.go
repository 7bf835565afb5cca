package receiver

import (
	"compress/gzip"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of one upload.
const (
	maxBody   = 1 << 20  // bytes as they are sent
	maxEvents = 32 << 20 // bytes when decompressed
)

// Handler takes uploads at /logs and /logs/PARTITION from who has the token.
func Handler(s *Store, token string) (http.Handler, error) {
	if len(token) < 16 {
		return nil, errors.New("the token is shorter than 16 characters")
	}
	want := sha256.Sum256([]byte(token))
	mux := http.NewServeMux()
	take := func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		events, status := read(w, r)
		if status != 0 {
			http.Error(w, http.StatusText(status), status)
			return
		}
		switch err := s.add(r.Context(), events, time.Now()); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.As(err, new(*badEvent)):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			// The sender keeps the events and sends them again.
			http.Error(w, "the events could not be stored", http.StatusServiceUnavailable)
		}
	}
	mux.HandleFunc("POST /logs", take)
	mux.HandleFunc("POST /logs/{partition}", take)
	return mux, nil
}

// read returns the events of an upload, or the status that says why it cannot.
func read(w http.ResponseWriter, r *http.Request) (events []json.RawMessage, status int) {
	var body io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	switch r.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, statusOf(err)
		}
		defer func() { _ = z.Close() }()
		body = z
	case "", "identity":
	default:
		return nil, http.StatusUnsupportedMediaType
	}
	// A few bytes can decompress to very many.
	data, err := io.ReadAll(io.LimitReader(body, maxEvents+1))
	if err != nil {
		return nil, statusOf(err)
	}
	if len(data) > maxEvents {
		return nil, http.StatusRequestEntityTooLarge
	}
	if err := json.Unmarshal(data, &events); err != nil { //nolint:forbidigo // events are kept as they are, and nothing is decided by them
		return nil, http.StatusBadRequest
	}
	return events, 0
}

func statusOf(err error) int {
	if errors.As(err, new(*http.MaxBytesError)) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
