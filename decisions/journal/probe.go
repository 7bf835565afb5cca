package journal

import (
	"context"
	"fmt"
)

// Probe goes the way of Append and stores nothing: it returns when a record that was
// appended now would be stored, or with the error that it would get. With write it
// writes to the disk as well, what is there already.
func (j *Journal) Probe(ctx context.Context, write bool) error {
	req := &request{probe: true, write: write, reply: make(chan reply, 1)}
	if err := j.pass(ctx, req); err != nil {
		return fmt.Errorf("probing the journal: %w", err)
	}
	return nil
}

// probed reports whether a batch has only probes, and whether one of them writes.
func probed(batch []*request) (only, write bool) {
	only = true
	for _, req := range batch {
		only = only && req.probe
		write = write || req.write
	}
	return only, write
}

// touch does what append does, without frames. With write, the head of the segment is
// written as it is.
func (s *spool) touch(write bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.inPlace(); err != nil || !write {
		return err
	}
	g := &s.seg[s.active]
	head := make([]byte, headSize)
	copy(head, spoolHead)
	_, err := g.file.WriteAt(head, 0)
	if err == nil && s.power {
		err = g.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing to the spool: %w", err)
	}
	return nil
}
