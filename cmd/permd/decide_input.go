package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
)

// messages reads the input, and finds the folder that it is about.
func (a *app) messages(file string, o *decideOptions) ([]decide.Message, error) {
	data, err := decide.ReadInput(a.In, file)
	if err != nil {
		return nil, err
	}
	if o.Cwd == "" {
		if o.Cwd, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("finding the working directory: %w", err)
		}
	}
	if o.Cwd, err = filepath.Abs(o.Cwd); err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	messages, err := decide.Parse(data)
	if err != nil {
		return nil, cli.Failf(cli.ExitUsage, "one JSON value, or one on each line", "reading %s: %v", decide.InputName(file), err)
	}
	return messages, nil
}
