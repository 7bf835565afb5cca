package notify

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// sent is a connection on which a bus has sent these bytes.
type sent struct {
	net.Conn
	r *bytes.Reader
}

func (s sent) Read(p []byte) (int, error)     { return s.r.Read(p) }
func (sent) SetWriteDeadline(time.Time) error { return nil }

// FuzzStream: what the library gets of a bus is whole messages that it can decode, none of them
// a call, long, or a signal about names, which it would not survive without an argument.
func FuzzStream(f *testing.F) {
	f.Add(signal("NameLost"))
	f.Add(append(signal("NameAcquired", uint32(1)), signal("NameOwnerChanged", serverName, "", ":1.2")...))
	f.Add(encoded(dbus.TypeMethodReply, map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(uint32(1))}, []string{"body-markup"}))
	f.Add([]byte{'B', 2, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &stream{Conn: sent{r: bytes.NewReader(data)}, began: true}
		for {
			if err := s.next(); err != nil {
				return
			}
			frame := s.frame
			if s.frame = nil; frame == nil {
				continue
			}
			m, err := dbus.DecodeMessage(bytes.NewReader(frame))
			if err != nil || m.Type == dbus.TypeMethodCall || len(frame) > headerBytes+maxMessage {
				t.Fatalf("it gets %d bytes, %v: %q", len(frame), err, frame)
			}
			if member := m.Headers[dbus.FieldMember].Value(); m.Type == dbus.TypeSignal && (member == "NameLost" || member == "NameAcquired") {
				t.Fatalf("it gets %v", member)
			}
		}
	})
}
