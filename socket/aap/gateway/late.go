package gateway

import "context"

// awaitLate has permd allow list the questions of calls that were denied since nobody had
// answered: permd keeps the answers for the same calls. What is asked in the place of such a
// question ends it.
func (g *Gateway) awaitLate(s *session, questions []string) {
	conn := s.conn
	for _, id := range questions {
		if len(s.late) == maxLate {
			s.late[0]()
			s.late = s.late[1:]
		}
		ctx, cancel := context.WithCancel(g.ended)
		s.late = append(s.late, cancel)
		g.late.Go(func() {
			defer cancel()
			_, _ = wait(ctx, conn, id, lateTime) // if it fails, nobody is asked any more
		})
	}
}
