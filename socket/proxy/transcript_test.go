package proxy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// TestTranscripts plays whole conversations of agents and clients: without a permd,
// each side gets the other's messages byte for byte.
func TestTranscripts(t *testing.T) {
	names, err := filepath.Glob("../acp/testdata/transcript-*.jsonl")
	if err != nil || len(names) < 4 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			k := newTalk(t, Rules{})
			for line := range bytes.Lines(data) {
				msg := string(strictjson.Find(strictjson.Value(line), "msg"))
				from := clientSide
				if text(strictjson.Value(line), "dir") == "a2c" {
					from = agentSide
				}
				k.line(from, msg)
				for len(k.open) > 0 {
					a := k.open[0]
					k.open = k.open[1:]
					k.answer(a, "", client.ErrUnreachable)
				}
				k.want(from.other(), msg)
				k.want(from)
			}
		})
	}
}
