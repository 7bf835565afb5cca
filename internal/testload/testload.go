// Package testload bounds how much tests do: how many of them run at a time, how often
// their garbage is collected, and how many cases of a long list they try. What proves the
// same thing many times is tried for a sample, for a smaller one with -short, whole if
// PERMD_TEST_SAMPLE is "all", and for one that is so many times as large if it is a number; .ci/run
// does both. What is drawn at random is the same in each run,
// so that a test that fails fails for what has changed; PERMD_TEST_SEED, a number or "random",
// draws others. It is for tests only.
package testload

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
)

const (
	// sampleEnv is the environment variable that lets all samples be whole if it is "all", and
	// some times as large if it is a number.
	sampleEnv = "PERMD_TEST_SAMPLE"
	// seedEnv is the environment variable of the seed: a number, or "random" for one that is
	// drawn anew in each process.
	seedEnv = "PERMD_TEST_SEED"
	// defaultSeed is the seed without seedEnv.
	defaultSeed = 1
)

// lessShare is the part of a sample that is left with the race detector, which finds races
// between goroutines that more cases on the same path do not add to, and with -short.
const lessShare = 4

// less reports whether samples are a part of what they would be.
func less() bool { return Race || testing.Short() }

// How many samples each test has drawn, so that the same seed draws the same samples
// whichever tests run at the same time.
var (
	drawnLock sync.Mutex
	drawn     = map[string]uint64{}
)

// processSeed is the seed of this process.
var processSeed = sync.OnceValues(func() (uint64, error) {
	switch text := os.Getenv(seedEnv); text {
	case "":
		return defaultSeed, nil
	case "random":
		return rand.Uint64N(1_000_000_000), nil //nolint:gosec // cases of tests
	default:
		return strconv.ParseUint(text, 10, 64)
	}
})

// Seed returns the seed of what a test draws at random. It is logged, as what draws the same
// again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := processSeed()
	if err != nil {
		t.Fatalf("%s is neither random nor a seed: %v", seedEnv, err)
	}
	t.Logf("%s=%d draws the same", seedEnv, seed)
	return seed
}

// rapidChecks is how many cases rapid's checks draw, of which -short leaves a fifth; whole
// samples have as many as rapid draws by itself.
const rapidChecks = 40

// Rapid draws rapidChecks cases for each of rapid's checks, with the seed of this process,
// unless flags or RAPID_CHECKS and RAPID_SEED say otherwise. It is for TestMain.
func Rapid() {
	seed, err := processSeed()
	if err != nil {
		panic(fmt.Sprintf("testload: %s: %v", seedEnv, err))
	}
	setRapid("rapid.seed", "0", strconv.FormatUint(seed, 10))
	if times, err := strconv.Atoi(cmp.Or(os.Getenv(sampleEnv), "1")); err == nil {
		setRapid("rapid.checks", "100", strconv.Itoa(times*rapidChecks))
	}
}

// setRapid changes a flag of rapid from what it is by default. It is parsed later.
func setRapid(name, usual, value string) {
	f := flag.Lookup(name)
	if f == nil {
		panic("testload: rapid has no flag " + name)
	}
	if f.Value.String() != usual {
		return
	}
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
}

// Sample draws n elements of a list and keeps their order; with the race detector or -short
// a quarter of them.
func Sample[T any](t testing.TB, n int, list []T) []T {
	t.Helper()
	return SampleOf(t, n, list, func(T) string { return "" })
}

// WithRace returns the whole list, and with the race detector a sample of a quarter.
func WithRace[T any](t testing.TB, list []T) []T {
	t.Helper()
	if !Race {
		return list
	}
	return Sample(t, len(list), list)
}

// WithShort returns the whole list, and with -short a sample of n. It is for a test whose
// cases are of one kind and take long.
func WithShort[T any](t testing.TB, n int, list []T) []T {
	t.Helper()
	if !testing.Short() {
		return list
	}
	if !Race {
		n *= lessShare // n is for -short as it is
	}
	return Sample(t, n, list)
}

// shortCut is how far the lengths of Cuts are apart with -short.
const shortCut = 7

// Cuts returns the lengths, from 0 to n-1, to which a text of n bytes is cut off: all of them,
// with -short one in shortCut and the longest.
func Cuts(n int) (lengths []int) {
	step := 1
	if testing.Short() {
		step = shortCut
	}
	for length := 0; length < n-1; length += step {
		lengths = append(lengths, length)
	}
	if n > 0 {
		lengths = append(lengths, n-1)
	}
	return lengths
}

// SampleOf is Sample with at least one element of each class.
func SampleOf[T any](t testing.TB, n int, list []T, class func(T) string) []T {
	t.Helper()
	times, whole := larger(t)
	if whole {
		return list
	}
	seed := Seed(t)
	n *= times
	if less() {
		n = (n + lessShare - 1) / lessShare
	}
	if n >= len(list) {
		return list
	}
	some := draw(rand.New(rand.NewPCG(seed, nextSample(t.Name()))), n, list, class) //nolint:gosec // cases of tests
	t.Logf("tries %d of %d: %s=all tries all", len(some), len(list), sampleEnv)
	return some
}

// OneIn returns a function that is true for one call in n, drawn at random; with the race
// detector or -short a quarter as often. It is for cases that are made and not listed.
func OneIn(t testing.TB, n int) func() bool {
	t.Helper()
	times, whole := larger(t)
	if whole {
		return func() bool { return true }
	}
	n = max(1, n/times)
	if less() {
		n *= lessShare
	}
	random := rand.New(rand.NewPCG(Seed(t), nextSample(t.Name()))) //nolint:gosec // cases of tests
	t.Logf("tries one of %d: %s=all tries all", n, sampleEnv)
	return func() bool { return random.IntN(n) == 0 }
}

// larger returns how many times as large samples are, and whether they are whole.
func larger(t testing.TB) (times int, whole bool) {
	t.Helper()
	switch text := os.Getenv(sampleEnv); text {
	case "":
		return 1, false
	case "all":
		return 1, true
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s is neither all nor a positive number: %q", sampleEnv, text)
		}
		return n, false
	}
}

// nextSample returns a number that is the same for the nth sample of a test in each run.
func nextSample(test string) uint64 {
	drawnLock.Lock()
	defer drawnLock.Unlock()
	drawn[test]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", test, drawn[test])
	return h.Sum64()
}

// draw takes the first element of each class in a random order, and then the first others
// until there are n.
func draw[T any](random *rand.Rand, n int, list []T, class func(T) string) []T {
	seen, others := map[string]bool{}, []int(nil)
	var chosen []int
	for _, i := range random.Perm(len(list)) {
		if c := class(list[i]); !seen[c] {
			seen[c] = true
			chosen = append(chosen, i)
		} else {
			others = append(others, i)
		}
	}
	chosen = append(chosen, others[:max(0, min(n-len(chosen), len(others)))]...)
	slices.Sort(chosen)
	out := make([]T, len(chosen))
	for k, i := range chosen {
		out[k] = list[i]
	}
	return out
}

// Rounds returns how often a test does something that it repeats: few times, with the race
// detector or -short a quarter of it rounded up, and many times if samples are whole. The environment
// variable env, which long runs set, comes before both.
func Rounds(t testing.TB, env string, few, many int) int {
	t.Helper()
	if text := os.Getenv(env); text != "" {
		rounds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s is no number: %q", env, text)
		}
		return rounds
	}
	times, whole := larger(t)
	if whole {
		return many
	}
	few = max(few, min(few*times, many))
	if less() {
		few = (few + lessShare - 1) / lessShare
	}
	return few
}

// Parallel sets how many parallel tests of a package run at a time unless -parallel says
// otherwise. By default there is one for each processor, which is too few for tests that
// wait for processes and timers most of the time. It is for TestMain.
func Parallel(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// gcPercent is how much a heap grows between two collections, after [CollectRarely]. Tests
// that compile rules or read many commands have little that lives and much garbage: with
// the default of 100, collecting takes up to a third of their time.
const gcPercent = 400

// CollectRarely lets garbage grow before it is collected, unless GOGC says how much. It is
// for TestMain of packages whose tests do not measure memory. Those that evaluate rules with
// policy/evaltime, which cancels an evaluation while the heap grows, may use it if they run
// one after another.
func CollectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
