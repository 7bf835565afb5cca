package decide

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
)

// Message is one message of the input.
type Message struct {
	method string // "" for a bare call
	notify bool
	params strictjson.Value
}

// Parse parses the messages and calls of an input, in order.
func Parse(data []byte) ([]Message, error) {
	values, err := strictjson.Values(data)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("it is empty")
	}
	var messages []Message
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

// parseMessage recognises a message by its members. It returns nil for a message in a
// transcript that is not addressed to permd.
func parseMessage(v strictjson.Value) (*Message, error) {
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
			return &Message{method: method, params: params}, nil
		case "session/update", "session/cancel":
			return &Message{method: method, notify: true, params: params}, nil
		}
		return nil, nil
	}
	has := func(name string) bool { _, ok := o.Get(name); return ok }
	switch {
	case has("result") || has("error"):
		return nil, nil
	case has("calls"):
		return &Message{method: "permd/decide", params: v}, nil
	case has("toolCall") && has("options"):
		return &Message{method: "session/request_permission", params: v}, nil
	case has("tool"):
		return &Message{params: v}, nil
	}
	return nil, errors.New("neither an ACP message, nor calls, nor a call with a tool")
}

// ReadInput reads a file, or in if the file is "-".
func ReadInput(in io.Reader, file string) ([]byte, error) {
	r := in
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

// InputName is the name of an input in errors.
func InputName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// maxDecideInput bounds the input of permd decide, in bytes.
const maxDecideInput = 64 << 20
