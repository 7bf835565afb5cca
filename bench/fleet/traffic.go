package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// counts are what the server's log says of a time.
type counts struct {
	Requests    int   `json:"requests"`
	Polls       int   `json:"polls"`       // GET
	NotModified int   `json:"notModified"` // answered with 304
	Full        int   `json:"full"`        // answered with a bundle
	Failed      int   `json:"failed"`      // answered with anything else
	Reports     int   `json:"reports"`     // of status
	Uploads     int   `json:"uploads"`     // of decision logs
	Connections int   `json:"connections"` // that were opened, each with a TLS handshake
	Sent        int64 `json:"sentBytes"`
	Peak        int   `json:"peakPollsPerSecond"` // in one second
	ReportBytes int64 `json:"reportBytes"`        // with headers
	UploadBytes int64 `json:"uploadBytes"`
	seconds     map[int64]int
}

// traffic reads the server's log.
type traffic struct {
	path   string
	offset int64
}

// read returns what was logged since it was called last.
func (t *traffic) read() (c counts, err error) {
	f, err := os.Open(t.path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return c, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return c, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	t.offset += int64(len(data))
	c.seconds = map[int64]int{}
	for line := range strings.Lines(string(data)) {
		if err := c.add(line); err != nil {
			return c, fmt.Errorf("%w in the server's log: %s", err, line)
		}
	}
	return c, nil
}

// peakSince returns the polls of the second with the most of them.
func (c *counts) peakSince(at time.Time) (most int) {
	for second, n := range c.seconds {
		if at.IsZero() || second >= at.Unix() {
			most = max(most, n)
		}
	}
	return most
}

// add counts a line in the format permd of examples/fleet/nginx.conf.
func (c *counts) add(line string) error {
	var (
		at, took            float64
		from, method, uri   string
		status, connRequest int
		sent, received      int64
	)
	if _, err := fmt.Sscan(line, &at, &from, &method, &uri, &status, &sent, &received, &took, &connRequest); err != nil {
		return err
	}
	c.Requests++
	c.Sent += sent
	if connRequest == 1 {
		c.Connections++
	}
	switch {
	case method == "POST" && strings.HasPrefix(uri, "/status"):
		c.Reports++
		c.ReportBytes += received
	case method == "POST":
		c.Uploads++
		c.UploadBytes += received
	default:
		c.Polls++
		c.seconds[int64(at)]++
	}
	switch {
	case status == 304:
		c.NotModified++
	case method == "GET" && status == 200:
		c.Full++
	case status > 299:
		c.Failed++
	}
	return nil
}
