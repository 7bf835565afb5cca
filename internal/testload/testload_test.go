package testload

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDraw: a sample has as many elements as asked for, one of each class, in order and
// none twice; another seed draws others.
func TestDraw(t *testing.T) {
	list := make([]int, 100)
	for i := range list {
		list[i] = i
	}
	class := func(i int) string { return fmt.Sprint(i % 7) }
	different := map[string]bool{}
	for seed := range uint64(50) {
		for _, n := range []int{1, 7, 30, 100} {
			got := draw(rand.New(rand.NewPCG(seed, 0)), n, list, class)
			if want := max(n, 7); len(got) != want {
				t.Errorf("%d were drawn, want %d", len(got), want)
			}
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("drawn: %v", got)
			}
			classes := map[string]bool{}
			for _, i := range got {
				classes[class(i)] = true
			}
			if len(classes) != 7 {
				t.Errorf("%d of 7 classes", len(classes))
			}
			if n == 30 {
				different[fmt.Sprint(got)] = true
			}
		}
	}
	if len(different) != 50 {
		t.Errorf("50 seeds draw %d samples", len(different))
	}
}

func TestSample(t *testing.T) {
	list := make([]int, 1000)
	for i := range list {
		list[i] = i
	}
	want := 40
	if less() {
		want = 10
	}
	for env, n := range map[string]int{"": want, "3": 3 * want, "all": 1000} {
		t.Setenv(sampleEnv, env)
		if got := Sample(t, 40, list); len(got) != n {
			t.Errorf("%q: %d elements, want %d", env, len(got), n)
		}
	}
	t.Setenv(sampleEnv, "")
	var samples [2][]int
	for i := range samples {
		delete(drawn, t.Name()) // as in another process
		samples[i] = slices.Concat(Sample(t, 40, list), Sample(t, 40, list))
	}
	if !slices.Equal(samples[0], samples[1]) {
		t.Errorf("the same seed draws %v and %v", samples[0], samples[1])
	}
	if n := len(samples[0]) / 2; slices.Equal(samples[0][:n], samples[0][n:]) {
		t.Errorf("two samples of a test are both %v", samples[0][:n])
	}
	whole := 1000
	if Race {
		whole = 250
	}
	if got := WithRace(t, list); len(got) != whole {
		t.Errorf("%d of the whole list, want %d", len(got), whole)
	}
	short := 1000
	switch {
	case testing.Short() && Race:
		short = 10
	case testing.Short():
		short = 40
	}
	if got := WithShort(t, 40, list); len(got) != short {
		t.Errorf("%d of the list with -short, want %d", len(got), short)
	}
	if got := Sample(t, 5000, list); len(got) != 1000 {
		t.Errorf("%d of a shorter list", len(got))
	}
}

func TestRounds(t *testing.T) {
	want := 20
	if less() {
		want = 5
	}
	for _, tt := range []struct {
		rounds, sample string
		want           int
	}{{"", "", want}, {"", "2", 2 * want}, {"", "8", min(8*want, 60/20*want)}, {"", "all", 60}, {"1000", "", 1000}, {"1000", "all", 1000}} {
		t.Setenv("PERMD_TEST_KILL_ROUNDS", tt.rounds)
		t.Setenv(sampleEnv, tt.sample)
		if got := Rounds(t, "PERMD_TEST_KILL_ROUNDS", 20, 60); got != tt.want {
			t.Errorf("%q, %q: %d rounds, want %d", tt.rounds, tt.sample, got, tt.want)
		}
	}
}

// TestOneIn: about one call in n is drawn, the same ones with the same seed, and all if
// samples are whole.
func TestOneIn(t *testing.T) {
	count := func(sample string, again bool) (some []int) {
		t.Setenv(sampleEnv, sample)
		if again {
			delete(drawn, t.Name()) // as in another process
		}
		one := OneIn(t, 10)
		for i := range 10_000 {
			if one() {
				some = append(some, i)
			}
		}
		return some
	}
	want := 1000
	if less() {
		want /= lessShare
	}
	first := count("", true)
	if n := len(first); n < want*8/10 || n > want*12/10 {
		t.Errorf("%d of 10000 calls, want about %d", n, want)
	}
	if !slices.Equal(first, count("", true)) {
		t.Error("a seed does not say which calls are drawn")
	}
	if slices.Equal(first, count("", false)) {
		t.Error("a test draws the same calls twice")
	}
	if n := len(count("2", false)); n < 2*want*8/10 || n > 2*want*12/10 {
		t.Errorf("%d of 10000 calls, want about %d", n, 2*want)
	}
	if n := len(count("all", false)); n != 10_000 {
		t.Errorf("%d of all calls", n)
	}
}

// TestCuts: the first and the last length are always there, and none twice.
func TestCuts(t *testing.T) {
	for _, short := range []bool{false, true} {
		t.Run(fmt.Sprint(short), func(t *testing.T) {
			was := testing.Short()
			setShort(t, short)
			defer setShort(t, was)
			for n, want := range map[int][2]int{0: {}, 1: {1, 1}, 2: {2, 2}, 7: {7, 2}, 8: {8, 2}, 9: {9, 3}, 100: {100, 16}} {
				got := Cuts(n)
				wanted := want[0]
				if short {
					wanted = want[1]
				}
				if len(got) != wanted || n > 0 && (got[0] != 0 || got[len(got)-1] != n-1) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("of %d: %v", n, got)
				}
			}
		})
	}
}

// setShort sets what testing.Short returns.
func setShort(t *testing.T, short bool) {
	t.Helper()
	if err := flag.Set("test.short", fmt.Sprint(short)); err != nil {
		t.Fatal(err)
	}
}

func TestParallel(t *testing.T) {
	f := flag.Lookup("test.parallel")
	before := f.Value.String()
	defer func() { _ = flag.Set("test.parallel", before) }()
	Parallel(13)
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if got := f.Value.String(); !given || got != "13" && got != before {
		t.Errorf("-parallel is %s", got)
	}
}
