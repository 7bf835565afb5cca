package systemwide

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSubordinates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subuid")
	s := &subordinates{path: path}
	if s.has(100000) {
		t.Error("without a file there is a subordinate uid")
	}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now().Add(-time.Hour)
	write("ana:100000:65536\n\nnonsense\nbob:x:3\nbob:165536:0\n1002:4294967290:65536\neve:200000:1\nana:0x30D41: 020 ", start)
	for uid, want := range map[uint32]bool{
		0: false, 1000: false, 99999: false, 100000: true, 165535: true, 165536: false, 200000: true, 200001: true, 200016: true, 200017: false,
		4294967289: false, 4294967290: true, 4294967295: true,
	} {
		if got := s.has(uid); got != want {
			t.Errorf("%d: %v, want %v", uid, got, want)
		}
	}
	write("ana:300000:65536\n", start.Add(time.Minute))
	if !s.has(300000) || s.has(100000) {
		t.Error("the file is not read again")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !s.has(300000) {
		t.Error("without the file the former ranges are forgotten")
	}
}
