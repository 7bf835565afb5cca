// Package quickio reads and writes pipes and sockets without telling Go's scheduler of each
// system call.
//
// The scheduler has a thread that looks after goroutines in system calls. It sleeps while
// the process does nothing, each first system call after that wakes it, and then it looks
// every 20 µs until the process rests again. A process that passes short messages on and
// rests in between spends a fifth of its processor time for that. A read or write of a
// descriptor that never waits needs nobody to look after it: what would wait returns at
// once, and the goroutine waits for the descriptor as others do.
package quickio

import "io"

// Reader returns a reader of r, or r itself if it is no pipe or socket that never waits, or
// the system is not Linux. It must not be used by two goroutines at a time. r is closed, and
// its deadlines are set, as without it. r must be this process's alone: another one that
// has the same open file could make it wait, and all goroutines with it. So it is not for
// standard input and output.
func Reader(r io.Reader) io.Reader {
	if f := open(r); f != nil {
		f.doRead = f.tryRead
		return reader{f}
	}
	return r
}

// Writer is Reader for writing.
func Writer(w io.Writer) io.Writer {
	if f := open(w); f != nil {
		f.doWrite = f.tryWrite
		return writer{f}
	}
	return w
}

type reader struct{ *file }

func (r reader) Read(b []byte) (int, error) { return r.read(b) }

type writer struct{ *file }

func (w writer) Write(b []byte) (int, error) { return w.write(b) }
