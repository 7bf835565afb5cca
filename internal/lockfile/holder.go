package lockfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxCommand bounds the command of a process that is shown, in runes.
const maxCommand = 60

// describe fills in what the system says about the process.
func (h *Held) describe() {
	if h.PID == 0 {
		return
	}
	dir := filepath.Join("/proc", strconv.Itoa(h.PID))
	if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
		h.Command = commandOf(string(line))
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	system, serr := os.ReadFile("/proc/stat")
	if err == nil && serr == nil {
		h.Since = startOf(string(stat), string(system))
	}
}

// commandOf returns the name of a program and its sub-command. Its other arguments are
// not shown: they may be secrets.
func commandOf(cmdline string) string {
	args := strings.Split(strings.TrimRight(cmdline, "\x00"), "\x00")
	text := filepath.Base(args[0])
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") && !strings.ContainsAny(args[1], "/=") {
		text += " " + args[1]
	}
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text))
	if args[0] == "" {
		return ""
	}
	return string(shown[:min(len(shown), maxCommand)])
}

// ticks is how many units of the times in /proc/PID/stat a second has: USER_HZ, which is
// 100 on every architecture that Go runs on.
const ticks = 100

// startOf returns when a process was started, from the text of /proc/PID/stat and
// /proc/stat (proc_pid_stat(5), proc_stat(5)); the zero time if they do not say it.
func startOf(process, system string) time.Time {
	// The name of the program is in parentheses and may hold any character.
	fields := strings.Fields(process[strings.LastIndexByte(process, ')')+1:])
	const starttime = 22 - 3 // the first of them is the third of all
	if len(fields) <= starttime {
		return time.Time{}
	}
	after, err := strconv.ParseUint(fields[starttime], 10, 52)
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(system) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(text), 10, 52)
			if err != nil {
				return time.Time{}
			}
			return time.Unix(boot, 0).Add(time.Duration(after) * (time.Second / ticks))
		}
	}
	return time.Time{}
}

// Holder describes the process in words: "pid 123: permd serve, since 2026-05-04
// 03:02:01"; "" if nothing is known.
func (h *Held) Holder() string {
	if h.PID == 0 {
		return ""
	}
	text := fmt.Sprintf("pid %d", h.PID)
	if h.Command != "" {
		text += ": " + h.Command
	}
	if !h.Since.IsZero() {
		text += ", since " + h.Since.Local().Format(time.DateTime)
	}
	return text
}
