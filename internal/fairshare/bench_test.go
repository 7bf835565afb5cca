package fairshare

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func BenchmarkTurn(b *testing.B) {
	s := New(Options{Slots: 2})
	m := s.Join(1)
	var t Turn // part of what a request allocates anyway
	b.ReportAllocs()
	for b.Loop() {
		t = Turn{}
		if err := t.Begin(b.Context(), m, nil); err != nil {
			b.Fatal(err)
		}
		_, _ = t.Yield(b.Context())
		t.End()
	}
}

func BenchmarkContended(b *testing.B) {
	for _, members := range []int{2, 128, 1024} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			s := New(Options{Slots: 2, Max: 64, MaxWait: time.Hour})
			ctx, cancel := context.WithCancel(b.Context())
			for i := range members {
				m := s.Join(uint32(i % 4))
				go func() {
					for ctx.Err() == nil {
						var t Turn
						if t.Begin(ctx, m, nil) == nil {
							t.End()
						}
					}
				}()
			}
			m := s.Join(1)
			b.ReportAllocs()
			for b.Loop() {
				var t Turn
				if err := t.Begin(ctx, m, nil); err != nil {
					b.Fatal(err)
				}
				t.End()
			}
			cancel()
		})
	}
}
