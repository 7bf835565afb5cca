package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/chain"
)

// A spool is a sequence of frames: a record with the columns of its row, a
// person's answer, or a report that the call of a question has run. A frame is
//
//	length of the payload   4 bytes
//	check of the length     4 bytes: distinguishes truncation from damage
//	checksum of the payload 4 bytes
//	payload                 kind (1 byte), sequence number (8 bytes), members
//
// in little-endian order. The members of a record are time, uid, latency, the
// row's texts, each preceded by its length, and the JSON of the record up to
// the end; those of an answer are its time, its verdict and its JSON; that of a
// report that a call has run is its time, and those of one how it ended its time
// and the word.
const (
	frameHead = 12
	frameKind = frameHead
	frameSeq  = frameHead + 1
	frameBody = frameHead + 1 + 8

	// maxPayload is the maximum length of a frame, whatever its length field
	// contains.
	maxPayload = MaxRecord + 64<<10
)

// lengthMask keeps zeros from being a frame.
const lengthMask = 0x706d_6453

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errTorn    = errors.New("the last frame is cut off")
	errDamaged = errors.New("a frame is damaged")
)

// frame is one frame that was read; its texts share the spool's memory.
type frame struct {
	kind          byte // of the entry that it becomes, see package chain
	seq           int64
	time, latency int64 // in nanoseconds
	uid           uint32
	texts         [chain.RecordTexts][]byte
	json          []byte
}

// The texts in a record's frame and in an answer's.
const (
	textID = iota
	textSession
	textAgent
	textTool
	textVerdict
	textBy

	answerVerdict = 0
	answerTexts   = 1
)

// beginRecord appends the frame of a record up to its JSON, which the caller
// appends before end. The sequence number is set later by stamp.
func beginRecord(b []byte, rec *decisions.Record) []byte {
	b = append(b, make([]byte, frameBody)...)
	b[len(b)-frameBody+frameKind] = chain.Record
	b = binary.LittleEndian.AppendUint64(b, uint64(rec.Time.UnixNano()))
	b = binary.LittleEndian.AppendUint32(b, rec.Peer.UID)
	b = binary.LittleEndian.AppendUint64(b, uint64(rec.LatencyNS))
	d := &rec.Decision
	for _, s := range [chain.RecordTexts]string{d.ID, rec.Session.ID, rec.Agent.Name, rec.Tool, string(d.Verdict), string(d.By)} {
		b = appendText(b, s)
	}
	return b
}

// appendAnswer appends the frame of an answer to the record of that number.
func appendAnswer(b []byte, seq int64, at time.Time, verdict decisions.Verdict, info []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, frameBody)...)
	b[start+frameKind] = chain.Answer
	binary.LittleEndian.PutUint64(b[start+frameSeq:], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(at.UnixNano()))
	b = appendText(b, string(verdict))
	b = append(b, info...)
	end(b[start:])
	return b
}

// end writes the length fields of a complete frame.
func end(frame []byte) {
	n := uint32(len(frame) - frameHead)
	binary.LittleEndian.PutUint32(frame, n)
	binary.LittleEndian.PutUint32(frame[4:], n^lengthMask)
}

// stamp sets the sequence numbers of the frames, the first of them next, and
// their checksums. It returns the following number.
func stamp(frames []byte, next int64) int64 {
	for len(frames) > 0 {
		n := sizeOf(frames)
		f := frames[:n]
		if f[frameKind] == chain.Record {
			binary.LittleEndian.PutUint64(f[frameSeq:], uint64(next))
			next++
		}
		binary.LittleEndian.PutUint32(f[8:], crc32.Checksum(f[frameHead:], castagnoli))
		frames = frames[n:]
	}
	return next
}

// sizeOf is the size of the first of whole frames.
func sizeOf(frames []byte) int { return frameHead + int(binary.LittleEndian.Uint32(frames)) }

// frames yields the frames of a spool, each with the data before its end. A
// truncated frame ends it with errTorn, anything else with errDamaged.
func frames(data []byte) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for len(data) > 0 {
			f, size, err := readFrame(data)
			if !yield(f, err) || err != nil {
				return
			}
			data = data[size:]
		}
	}
}

// records yields the records among the frames that can be read.
func records(data []byte) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for f, err := range frames(data) {
			if err != nil || f.kind == chain.Record && !yield(f) {
				return
			}
		}
	}
}

// readFrame reads the first frame of data and its size.
func readFrame(data []byte) (f frame, size int, err error) {
	if len(data) < 8 {
		return f, 0, errTorn
	}
	n := binary.LittleEndian.Uint32(data)
	if n != binary.LittleEndian.Uint32(data[4:])^lengthMask || n < frameBody-frameHead || n > maxPayload {
		return f, 0, errDamaged
	}
	size = frameHead + int(n)
	if len(data) < size {
		return f, 0, errTorn
	}
	if binary.LittleEndian.Uint32(data[8:]) != crc32.Checksum(data[frameHead:size], castagnoli) {
		return f, 0, errDamaged
	}
	f.kind, f.seq = data[frameKind], int64(binary.LittleEndian.Uint64(data[frameSeq:]))
	r := fieldReader{data: data[frameBody:size]}
	f.time = int64(r.number(8))
	texts := 0
	switch f.kind {
	case chain.Record:
		f.uid, f.latency, texts = uint32(r.number(4)), int64(r.number(8)), chain.RecordTexts
	case chain.Answer:
		texts = answerTexts
	}
	for i := range texts {
		f.texts[i] = r.text()
	}
	f.json = r.data
	if r.short || f.seq <= 0 || f.kind < chain.Record || f.kind > chain.Ended {
		return f, 0, errDamaged
	}
	return f, size, nil
}

// fieldReader takes the members of a frame.
type fieldReader struct {
	data  []byte
	short bool
}

func (r *fieldReader) take(n int) []byte {
	if len(r.data) < n {
		r.short, r.data = true, nil
		return make([]byte, n)
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *fieldReader) number(bytes int) uint64 {
	if bytes == 4 {
		return uint64(binary.LittleEndian.Uint32(r.take(4)))
	}
	return binary.LittleEndian.Uint64(r.take(8))
}

func (r *fieldReader) text() []byte {
	n := int(binary.LittleEndian.Uint16(r.take(2)))
	if len(r.data) < n {
		r.short = true
		return nil
	}
	return r.take(n)
}

func appendText(b []byte, s string) []byte {
	s = column(s)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

// maxColumn bounds names in the columns that lists are filtered by; the record
// holds them in full.
const maxColumn = 1024

// column is a name as it is stored in its column.
func column(s string) string {
	if len(s) > maxColumn {
		n := maxColumn
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
