package heads

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permd/permd/decisions/journal/chain"

	"github.com/go-json-experiment/json"
)

func head(n int64) chain.Head {
	return chain.Head{Chain: "c", Seq: n, Entries: 2 * n, Hash: fmt.Sprintf("%064x", n)}
}

var quiet = slog.New(slog.DiscardHandler)

// TestSend: what the system's journal gets is read back, in its form and by user; the
// newest is in the file.
func TestSend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "head")
	var out strings.Builder
	s := newSender("/d\n.db", file, quiet, func(message string, fields map[string]string) error {
		for _, uid := range []string{"7", "8"} {
			all := maps.Clone(fields)
			all["MESSAGE"], all["_UID"], all["__REALTIME_TIMESTAMP"] = message, uid, "1772366400000001"
			if uid == "8" {
				all[fieldHash] = "forged"
			}
			line, err := json.Marshal(all)
			if err != nil {
				return err
			}
			out.WriteString(string(line) + "\n")
		}
		return nil
	})
	for n := range int64(5) {
		s.Send(head(n + 1))
	}
	s.Close()
	out.WriteString(`{"MESSAGE": "another one", "_UID": "7"}` + "\n\n")
	list, err := Read(strings.NewReader(out.String()), "/d\n.db", 7)
	if err != nil || len(list) == 0 || list[0].Time.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	for i := range list {
		list[i].Time = head(1).Time
		if list[i] != head(list[i].Seq) {
			t.Errorf("%+v", list[i])
		}
	}
	if list[len(list)-1] != head(5) {
		t.Errorf("the last is %+v", list[len(list)-1])
	}
	if other, err := Read(strings.NewReader(out.String()), "/other.db", 7); err != nil || len(other) > 0 {
		t.Errorf("of another journal: %+v, %v", other, err)
	}
	kept, err := Kept(file, "/d\n.db", uint32(os.Geteuid()))
	for i := range kept {
		kept[i].Time = head(1).Time
	}
	if err != nil || !slices.Equal(kept, []chain.Head{head(5)}) {
		t.Errorf("kept: %+v, %v", kept, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestNoSystemJournal: without one the log gets the first head and the last one.
func TestNoSystemJournal(t *testing.T) {
	var out strings.Builder
	s := newSender("/d", filepath.Join(t.TempDir(), "head"), slog.New(slog.NewTextHandler(&out, nil)), func(string, map[string]string) error {
		return errors.New("none")
	})
	for n := range int64(9) {
		s.Send(head(n + 1))
	}
	s.Close()
	if text := out.String(); strings.Count(text, "\n") > 2 || !strings.Contains(text, head(9).Hash) {
		t.Errorf("the log is\n%s", text)
	}
}

// TestStuckSystemJournal: nobody waits for one that takes nothing, but for a moment at the
// end.
func TestStuckSystemJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stuck sync.WaitGroup
		stuck.Add(1)
		s := newSender("/d", filepath.Join(t.TempDir(), "head"), quiet, func(string, map[string]string) error {
			stuck.Wait()
			return nil
		})
		for n := range int64(9) {
			s.Send(head(n + 1))
		}
		s.Close()
		stuck.Done()
		<-s.done
	})
}

// TestUnreadable: what is not in the form of journalctl is an error, and no head.
func TestUnreadable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "head")
	if list, err := Kept(file, "/d", uint32(os.Geteuid())); err != nil || list != nil {
		t.Errorf("without a file: %v, %v", list, err)
	}
	for _, text := range []string{"x", `[]`, `{"MESSAGE_ID": "` + MessageID + `", "PERMD_JOURNAL": "/d"}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := Kept(file, "/d", uint32(os.Geteuid())); err == nil {
			t.Errorf("%q: %v", text, list)
		}
	}
	if _, err := Read(io.LimitReader(zeros{}, maxLine+2), "/d", 1); err == nil {
		t.Error("a line without end is read")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestReadRefuses reads lines that are no heads of a chain.
func TestReadRefuses(t *testing.T) {
	line := func(seq, entries string) string {
		return `{"` + fieldID + `":"` + MessageID + `","` + fieldPath + `":"/j","` + fieldSeq + `":"` + seq + `","` + fieldEntries + `":"` + entries + `","_UID":"7"}`
	}
	for in, want := range map[string]string{
		line("0", "1"):             "no chain has a head at decision 0",
		line("-1", "1"):            "no chain has a head at decision -1",
		line("1", "0"):             "with 0 entries",
		strings.Repeat("x", 5<<20): "a line is longer than 1048576 bytes",
		"foo":                      "not in the form that journalctl -o json prints",
	} {
		if list, err := Read(strings.NewReader(in), "/j", 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %+v, %v; want %s", in, list, err, want)
		}
	}
}
