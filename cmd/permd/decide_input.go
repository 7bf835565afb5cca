package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
)

// messages reads the input, and finds the folder that it is about.
func (a *app) messages(file string, o *decideOptions) ([]message, error) {
	data, err := a.readInput(file)
	if err != nil {
		return nil, err
	}
	if o.cwd == "" {
		if o.cwd, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("finding the working directory: %w", err)
		}
	}
	if o.cwd, err = filepath.Abs(o.cwd); err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	messages, err := parseMessages(data)
	if err != nil {
		return nil, cli.Failf(cli.ExitUsage, "one JSON value, or one on each line", "reading %s: %v", nameOf(file), err)
	}
	return messages, nil
}

// message is one message of the input.
type message struct {
	method string // "" for a bare call
	notify bool
	params strictjson.Value
}

func parseMessages(data []byte) ([]message, error) {
	values, err := strictjson.Values(data)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("it is empty")
	}
	var messages []message
	for i, v := range values {
		m, err := parseMessage(v)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
		if m != nil {
			messages = append(messages, *m)
		}
	}
	return messages, nil
}

// parseMessage tells what a value is by its members; nil for a message that is
// part of a transcript but nothing permd is sent.
func parseMessage(v strictjson.Value) (*message, error) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, err
	}
	if inner, ok := o.Get("msg"); ok { // a line of a transcript
		return parseMessage(inner)
	}
	if raw, ok := o.Get("method"); ok {
		method, _ := strictjson.ParseString(raw)
		params, _ := o.Get("params")
		switch method {
		case "session/request_permission", "permd/decide", "permd/session":
			return &message{method: method, params: params}, nil
		case "session/update", "session/cancel":
			return &message{method: method, notify: true, params: params}, nil
		}
		return nil, nil
	}
	has := func(name string) bool { _, ok := o.Get(name); return ok }
	switch {
	case has("result") || has("error"):
		return nil, nil
	case has("calls"):
		return &message{method: "permd/decide", params: v}, nil
	case has("toolCall") && has("options"):
		return &message{method: "session/request_permission", params: v}, nil
	case has("tool"):
		return &message{params: v}, nil
	}
	return nil, errors.New("neither an ACP message, nor calls, nor a call with a tool")
}

func (a *app) readInput(file string) ([]byte, error) {
	r := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, cli.Failf(cli.ExitError, "name a file, or - for standard input", "opening the input: %w", err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDecideInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading the input: %w", err)
	}
	if len(data) > maxDecideInput {
		return nil, cli.Failf(cli.ExitUsage, "split it", "the input is larger than %d MiB", maxDecideInput>>20)
	}
	return data, nil
}

func nameOf(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}
