package arguments

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Kept are the calls that a folder has.
type Kept struct {
	// Damaged is the number of lines that cannot be read.
	Damaged int

	calls []*Call
	of    map[string]reference // by the id of the decision
}

// Call is the call of one decision or of several.
type Call struct {
	// Call has no user but their number.
	effects.Call
	// Why is why the call cannot be decided again, "" if it can. Then Call is what may be
	// shown of it.
	Why string
}

type reference struct {
	call   int32
	recent int32
}

// Read reads all files of a folder; without a folder there are none.
func Read(dir string) (*Kept, error) {
	k := &Kept{of: map[string]reference{}}
	names, err := segments(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	for _, name := range names {
		if err == nil {
			err = k.read(filepath.Join(dir, name))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of decisions: %w", err)
	}
	return k, nil
}

func (k *Kept) read(file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the daemon has removed it meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	numbered := map[uint32]int32{}
	r := bufio.NewReaderSize(f, 8*maxCall)
	for {
		text, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			k.Damaged++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
		case err == nil && !k.add(text, numbered):
			k.Damaged++
		}
		if errors.Is(err, io.EOF) {
			return nil // an unfinished line is being written
		}
		if err != nil {
			return err
		}
	}
}

// add adds the decision of a line. It is false for a line that is damaged.
func (k *Kept) add(text []byte, numbered map[uint32]int32) bool {
	var l line
	if err := strictjson.Unmarshal(text, &l); err != nil || l.ID == "" {
		return false
	}
	at, known := numbered[l.Number]
	switch {
	case l.Why != "":
		c := &Call{Why: l.Why}
		if len(l.Call) > 0 && strictjson.Unmarshal(l.Call, &c.Call) != nil {
			return false
		}
		at = k.put(c)
	case len(l.Call) > 0:
		c := new(Call)
		if err := strictjson.Unmarshal(l.Call, &c.Call); err != nil || l.Number == 0 {
			return false
		}
		at = k.put(c)
		numbered[l.Number] = at
	case !known:
		return false
	}
	k.of[l.ID] = reference{at, int32(min(l.Recent, 1<<30))}
	return true
}

func (k *Kept) put(c *Call) int32 {
	k.calls = append(k.calls, c)
	return int32(len(k.calls) - 1)
}

// Of returns the call of a decision, nil if none was kept, and how many there were lately
// (see [decisions.Request.Recent]).
func (k *Kept) Of(decisionID string) (c *Call, recent int) {
	r, ok := k.of[decisionID]
	if !ok {
		return nil, 0
	}
	return k.calls[r.call], int(r.recent)
}

// maxWanted bounds the files that ReadCalls reads, in bytes.
const maxWanted = 2 * maxSegment

// ReadCalls reads the calls of some decisions, by their ids, from the newest files: at most 16 MiB.
// A decision whose call was not found there is not among the result.
func ReadCalls(dir string, wanted map[string]bool) (map[string]*Call, error) {
	found := map[string]*Call{}
	names, err := segments(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of decisions: %w", err)
	}
	size := 0
	for _, name := range slices.Backward(names) {
		if len(found) == len(wanted) {
			break
		}
		text, err := readUpTo(filepath.Join(dir, name), maxWanted)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the daemon has removed it meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("reading the arguments of decisions: %w", err)
		}
		if size += len(text); size > maxWanted {
			break
		}
		readWanted(text, wanted, found)
	}
	return found, nil
}

// readWanted adds the calls of wanted decisions in a file. Others are not decoded.
func readWanted(text []byte, wanted map[string]bool, found map[string]*Call) {
	numbered := map[uint32][]byte{}
	made := map[uint32]*Call{}
	for text := range bytes.Lines(text) {
		var l line
		if text[len(text)-1] != '\n' || strictjson.Unmarshal(text, &l) != nil {
			continue
		}
		if l.Number != 0 && len(l.Call) > 0 {
			numbered[l.Number] = l.Call
		}
		switch {
		case !wanted[l.ID]:
		case l.Why != "":
			found[l.ID] = &Call{Why: l.Why}
		case made[l.Number] != nil:
			found[l.ID] = made[l.Number]
		default:
			c := new(Call)
			if strictjson.Unmarshal(numbered[l.Number], &c.Call) == nil {
				made[l.Number], found[l.ID] = c, c
			}
		}
	}
}

// segments returns the names of the files, the oldest first.
func segments(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
