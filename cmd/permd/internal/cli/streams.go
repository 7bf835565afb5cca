package cli

import "io"

// Streams are the standard streams of a command and the output format.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool
}
