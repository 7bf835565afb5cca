package socket

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestProbe(t *testing.T) {
	none := new(Probe)
	release, err := none.Take(t.Context())
	if err != nil {
		t.Fatalf("without a server: %v", err)
	}
	release()

	full := func(slots int) (*server, *Probe) {
		s := &server{runningSlots: make(chan struct{}, slots)}
		for range slots {
			s.runningSlots <- struct{}{}
		}
		p := new(Probe)
		p.server.Store(s)
		return s, p
	}
	t.Run("a slot is free", func(t *testing.T) {
		s, p := full(2)
		s.returnSlot()
		release, err := p.Take(t.Context())
		if err != nil || len(s.runningSlots) != 2 {
			t.Fatalf("%v, %d slots are taken", err, len(s.runningSlots))
		}
		release()
		if len(s.runningSlots) != 1 {
			t.Errorf("%d slots are taken after the release", len(s.runningSlots))
		}
	})
	t.Run("a slot becomes free", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := full(2)
			time.AfterFunc(time.Second, s.returnSlot)
			begun := time.Now()
			release, err := p.Take(t.Context())
			if err != nil || time.Since(begun) != time.Second || len(s.runningSlots) != 2 {
				t.Fatalf("%v after %v, %d slots are taken", err, time.Since(begun), len(s.runningSlots))
			}
			release()
		})
	})
	t.Run("others take each slot first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := full(1)
			time.AfterFunc(time.Second, func() { s.slotsReturned.Add(1) })
			begun := time.Now()
			release, err := p.Take(t.Context())
			if err != nil || time.Since(begun) != probePatience {
				t.Fatalf("%v after %v", err, time.Since(begun))
			}
			release()
			if len(s.runningSlots) != 1 {
				t.Error("a slot was given back that was not taken")
			}
		})
	})
	t.Run("all are stuck", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, p := full(1)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if _, err := p.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
}
