package notify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/godbus/dbus/v5"
)

// Bounds of what a bus may send. Answers of the bus and of a notification server are short;
// any process of the session may send more to everybody.
const (
	maxGreeting = 16 << 10 // bytes until the connection is authenticated
	maxMessage  = 64 << 10 // bytes of a message; longer ones are skipped
	busLimit    = 1 << 27  // bytes of a message, by the D-Bus specification
	headerBytes = 16       // of a message's header before its fields
)

// stream is a connection to a bus of which the library sees only answers and signals that it can
// decode. It starts a goroutine for each call of a stranger, keeps messages of any length in
// memory, and takes the signals of the bus about names for well formed.
//
// Descriptors are never received: godbus asks for them only on connections that it has made.
type stream struct {
	net.Conn
	began bool   // messages follow what is written now
	greet int    // bytes that were read before
	frame []byte // what is left of a message
}

// Write implements io.Writer. A bus that reads nothing ends the connection.
func (s *stream) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(callTime)); err != nil {
		return 0, err
	}
	if !s.began && bytes.Equal(p, []byte("BEGIN\r\n")) {
		s.began = true // the library reads again only afterwards
	}
	return s.Conn.Write(p)
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if !s.began {
		n, err := s.Conn.Read(p[:min(len(p), maxGreeting-s.greet)])
		if s.greet += n; s.greet == maxGreeting {
			return 0, errors.New("the bus says too much before it knows who connects")
		}
		return n, err
	}
	for len(s.frame) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.frame)
	s.frame = s.frame[n:]
	return n, nil
}

// next reads a message, and keeps it if it is for the library.
func (s *stream) next() error {
	frame := make([]byte, headerBytes, 512)
	if _, err := io.ReadFull(s.Conn, frame); err != nil {
		return err
	}
	var order binary.ByteOrder
	switch frame[0] {
	case 'l':
		order = binary.LittleEndian
	case 'B':
		order = binary.BigEndian
	default:
		return errors.New("the bus sends what is no message of D-Bus")
	}
	fields := (uint64(order.Uint32(frame[12:])) + 7) &^ 7
	rest := fields + uint64(order.Uint32(frame[4:]))
	switch {
	case rest > busLimit:
		return errors.New("the bus sends a message that is longer than any may be")
	case rest > maxMessage:
		_, err := io.CopyN(io.Discard, s.Conn, int64(rest))
		return err
	}
	frame = append(frame, make([]byte, rest)...)
	if _, err := io.ReadFull(s.Conn, frame[headerBytes:]); err != nil {
		return err
	}
	if wanted(frame) {
		s.frame = frame
	}
	return nil
}

// wanted reports whether a message is an answer or a signal that the library can handle.
func wanted(frame []byte) (ok bool) {
	if t := dbus.Type(frame[1]); t != dbus.TypeMethodReply && t != dbus.TypeError && t != dbus.TypeSignal {
		return false
	}
	defer func() {
		if recover() != nil {
			ok = false // what it cannot decode, whatever that is
		}
	}()
	m, err := dbus.DecodeMessage(bytes.NewReader(frame))
	if err != nil {
		return false
	}
	member, _ := m.Headers[dbus.FieldMember].Value().(string)
	// It takes the first argument of these for granted, and permd has no names.
	return m.Type != dbus.TypeSignal || member != "NameLost" && member != "NameAcquired"
}
