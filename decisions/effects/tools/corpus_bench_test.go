package tools

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/strictjson"
)

// agentCommands returns the shell commands that agents really ran, each once, from
// a collection that is not part of the repository.
func agentCommands(b *testing.B) []string {
	b.Helper()
	file, err := os.Open("../../../shared/corpus/agent-calls.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip("the collection of agents' calls is not beside the repository")
	}
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var all []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var call struct{ Kind, Command string }
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			b.Fatal(err)
		}
		if call.Kind == "shell" && call.Command != "" && len(call.Command) <= 32<<10 {
			all = append(all, call.Command)
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// BenchmarkAgentCalls measures the time from each command of the collection to its
// effects. One round is one pass over all commands. The best of three times counts
// for each command, so that other processes on the machine matter less. The budget
// in memory is 15 µs at p50 and 150 µs at p99; what the disk adds is the kernel's
// part.
func BenchmarkAgentCalls(b *testing.B) {
	commands := agentCommands(b)
	inMemory := toolWorld(b)
	inMemory.Table = effectstest.Table(b)
	inMemory.FS = effectstest.Files()
	onDisk := *inMemory
	onDisk.FS = paths.OSFS{}
	cwd := checkoutOnDisk(b)
	for _, on := range []struct {
		name, cwd string
		w         *World
	}{{"memory", effectstest.Cwd, inMemory}, {"disk", cwd, &onDisk}} {
		b.Run(on.name, func(b *testing.B) {
			calls := make([]*effects.Call, len(commands))
			for i, command := range commands {
				input, err := json.Marshal(map[string]string{"command": command})
				if err != nil {
					b.Fatal(err)
				}
				calls[i] = agentCall("claude-code", "Bash", "")
				calls[i].Cwd, calls[i].Input = on.cwd, strictjson.Value(input)
			}
			best := make([]time.Duration, len(calls))
			rounds := 0
			b.ReportAllocs()
			for b.Loop() {
				rounds++
				for i, c := range calls {
					for range 3 {
						start := time.Now()
						on.w.Effects(c)
						if took := time.Since(start); best[i] == 0 || took < best[i] {
							best[i] = took
						}
					}
				}
			}
			order := make([]int, len(best))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(i, j int) int { return int(best[i] - best[j]) })
			at := func(share float64) float64 {
				return float64(best[order[int(share*float64(len(order)-1))]]) / 1e3
			}
			b.ReportMetric(0, "ns/op") // the time of a whole round means nothing
			b.ReportMetric(at(0.5), "p50-µs")
			b.ReportMetric(at(0.99), "p99-µs")
			b.ReportMetric(at(1), "max-µs")
			if testing.Verbose() {
				for _, i := range order[len(order)-10:] {
					b.Logf("%v for %d bytes: %.100s", best[i], len(commands[i]), strings.ReplaceAll(commands[i], "\n", "⏎"))
				}
			}
		})
	}
}
