package cli

import "io"

// Streams are what a command reads and writes, and in which form.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool
}
