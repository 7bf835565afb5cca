package recent

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"
)

// TestCalls compares the counts with those of a list of all calls: they are never less,
// and with few users hardly more.
func TestCalls(t *testing.T) {
	seed := testload.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	r := New(now, 0)
	type call struct {
		user int
		at   time.Time
	}
	var all []call
	exact, latest := 0, now // a clock that was set back stands still until then
	for i := range 20_000 {
		users := 8
		if i > 10_000 {
			users = 5_000 // more than there are counters
		}
		user := rnd.IntN(users)
		switch rnd.IntN(400) {
		case 0:
			now = now.Add(time.Duration(rnd.Int64N(int64(90 * time.Second))))
		case 1:
			now = now.Add(-time.Duration(rnd.Int64N(int64(time.Second)))) // it is set back
		default:
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Second))))
		}
		if now.After(latest) {
			latest = now
		}
		all = append(all, call{user, latest})
		minute, longer := 0, 0
		for j := len(all) - 1; j >= 0 && j > len(all)-2000; j-- {
			if all[j].user != user {
				continue
			}
			if age := latest.Sub(all[j].at); age < time.Minute {
				minute++
				longer++
			} else if age <= 71*time.Second {
				longer++
			}
		}
		got := r.Add(7, fmt.Sprint("user ", user), now)
		if got < minute {
			t.Fatalf("seed %d, call %d: %d, but there were %d", seed, i, got, minute)
		}
		if users == 8 && got > longer {
			exact++
		}
	}
	if exact > 500 {
		t.Errorf("seed %d: %d of the first 10,000 counts are too large", seed, exact)
	}
}

// TestStart: for a minute after the start the calls before it count for every user.
func TestStart(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := New(now, 40)
	for _, tt := range []struct {
		after time.Duration
		user  string
		uid   uint32
		want  int
	}{
		{0, "ana", 1, 41}, {time.Second, "ana", 1, 42}, {time.Second, "ben", 1, 41}, {time.Second, "ana", 2, 41}, {59 * time.Second, "ana", 1, 43},
		{60 * time.Second, "ana", 1, 4}, {80 * time.Second, "ana", 1, 3}, {3 * time.Hour, "ana", 1, 1},
	} {
		if got := r.Add(tt.uid, tt.user, now.Add(tt.after)); got != tt.want {
			t.Errorf("%s after %s: %d, want %d", tt.user, tt.after, got, tt.want)
		}
	}
	if got := (*Calls)(nil).Add(1, "ana", now); got != 1 {
		t.Errorf("without a count: %d", got)
	}
}
