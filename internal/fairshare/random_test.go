package fairshare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRandom does everything in random order, and looks whether what is counted is so.
func TestRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				const slots, most, members, work = 3, 8, 48, 1000
				s := New(Options{Slots: slots, Max: most, Work: work, MaxWait: 500 * time.Millisecond})
				var computing, ended, begun atomic.Int64
				check := func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					if s.running > slots || s.open > most+members || s.live.len > s.open || s.running > s.live.len || s.work > work+members*maxWorkOfTurn || int(computing.Load()) > s.live.len {
						t.Errorf("%d running, %d live, %d compute", s.running, s.live.len, computing.Load())
					}
					for i, u := range s.waiting {
						if u.place != i || len(u.waiting) == 0 {
							t.Errorf("user %d: place %d of %d, %d members", u.uid, u.place, i, len(u.waiting))
						}
						for i, m := range u.waiting {
							if m.place != i || m.turns.len == 0 {
								t.Errorf("a member of %d: place %d of %d, %d turns", u.uid, m.place, i, m.turns.len)
							}
						}
					}
				}
				for range members / 4 {
					uid, seed := r.Uint32N(3), r.Uint64()
					go func() {
						r := rand.New(rand.NewPCG(seed, 1))
						for range 4 {
							m := s.Join(uid)
							for range 10 {
								begun.Add(1)
								timeout, seed := time.Duration(r.IntN(800))*time.Millisecond, r.Uint64()
								go func() {
									defer ended.Add(1)
									ctx, cancel := context.WithTimeout(t.Context(), timeout)
									defer cancel()
									randomTurn(ctx, m, rand.New(rand.NewPCG(seed, 2)), &computing, check)
								}()
								time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
							}
							m.Leave()
						}
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				live, running, open, waiting := counts(s)
				if begun.Load() != ended.Load() || live+running+open+waiting != 0 || s.contended.Load() || s.work != 0 {
					t.Errorf("%d begun, %d ended, %d live, %d running, %d open, %d wait", begun.Load(), ended.Load(), live, running, open, waiting)
				}
			})
		})
	}
}

const maxWorkOfTurn = 500

func randomTurn(ctx context.Context, m *Member, r *rand.Rand, computing *atomic.Int64, check func()) {
	turn := Turn{Work: r.IntN(maxWorkOfTurn)}
	defer turn.End()
	if turn.Begin(ctx, m, nil) != nil {
		return
	}
	for range r.IntN(6) {
		computing.Add(1)
		check()
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		check()
		computing.Add(-1)
		var err error
		switch r.IntN(3) {
		case 0:
			_, err = turn.Yield(ctx)
		case 1:
			_, err = turn.YieldLong(ctx)
		case 2:
			turn.pause()
			time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			_, err = turn.Resume(ctx)
		}
		if err != nil {
			return
		}
	}
}
