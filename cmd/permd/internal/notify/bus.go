package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/permd/permd/socket"
)

// What the Desktop Notifications Specification 1.3 names, and the D-Bus specification.
const (
	serverName  = "org.freedesktop.Notifications"
	serverPath  = "/org/freedesktop/Notifications"
	busName     = "org.freedesktop.DBus"
	closed      = "NotificationClosed"
	ownerIsNew  = "NameOwnerChanged"
	noSuchOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
)

// callTime is how long one answer of the bus, or of the server, may take.
const callTime = 2 * time.Second

// errNoServer means that no process shows notifications.
var errNoServer = errors.New("no notification server runs: " + serverName + " has no owner on the session bus")

// bus is a connection to the session bus.
type bus struct {
	conn *dbus.Conn
	id   string // of the process that is the bus: another one gives the same names again
	// server is what was found when it was last looked up, the zero value for none.
	server atomic.Pointer[server]
	events chan *dbus.Signal
}

// server is a process that shows notifications.
type server struct {
	name   string // its unique name on the bus
	markup bool   // it reads markup in bodies
}

// connect connects to the bus, and looks the server up.
func connect(ctx context.Context, env func(string) string) (*bus, error) {
	addr, err := busAddress(env)
	if err != nil {
		return nil, err
	}
	c, err := new(net.Dialer{Timeout: callTime}).DialContext(ctx, addr.Net, addr.Name)
	if err != nil {
		return nil, fmt.Errorf("the session bus cannot be reached: %w", err)
	}
	if err := trusted(c); err != nil {
		c.Close()
		return nil, err
	}
	b := &bus{events: make(chan *dbus.Signal, 16)}
	b.server.Store(new(server))
	// The library connects without a limit of time.
	if err := c.SetReadDeadline(time.Now().Add(callTime)); err != nil {
		c.Close()
		return nil, err
	}
	b.conn, err = dbus.NewConn(&stream{Conn: c}, dbus.WithSignalHandler(signals{b}), dbus.WithHandler(noObjects{}))
	if err != nil {
		c.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	err = b.conn.Auth([]dbus.Auth{dbus.AuthExternal(fmt.Sprint(os.Geteuid()))})
	if err == nil {
		err = b.conn.Hello()
	}
	stop()
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err == nil {
		err = b.watch(ctx)
	}
	if err == nil {
		err = b.identify(ctx)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the session bus does not answer: %w", err)
	}
	if err := b.lookUp(ctx); err != nil && !errors.Is(err, errNoServer) {
		b.close()
		return nil, err
	}
	return b, nil
}

// trusted returns an error unless the bus runs as this user, or as root.
func trusted(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("the session bus is no Unix socket")
	}
	peer, err := socket.PeerOf(u)
	if err != nil {
		return fmt.Errorf("it is not known whose the session bus is: %w", err)
	}
	if peer.UID != 0 && int(peer.UID) != os.Geteuid() {
		return fmt.Errorf("the session bus runs as user %d", peer.UID)
	}
	return nil
}

// place identifies the bus and the server, which gives ids to its notifications.
func (b *bus) place() string { return b.id + " " + b.server.Load().name }

func (b *bus) close() { _ = b.conn.Close() }

// watch subscribes to the signals of the server and of the bus. Handlers compare the sender as
// well: any process may send a signal to this connection.
func (b *bus) watch(ctx context.Context) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	err := b.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(busName), dbus.WithMatchInterface(busName),
		dbus.WithMatchMember(ownerIsNew), dbus.WithMatchArg(0, serverName))
	if err != nil {
		return err
	}
	return b.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(serverName), dbus.WithMatchInterface(serverName),
		dbus.WithMatchMember(closed), dbus.WithMatchObjectPath(serverPath))
}

// identify asks which bus this is.
func (b *bus) identify(ctx context.Context) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	return b.conn.BusObject().CallWithContext(ctx, busName+".GetId", 0).Store(&b.id)
}

// lookUp finds the server and what it can do. A server that the bus would start is not started:
// which program that is says a file that others may have written.
func (b *bus) lookUp(ctx context.Context) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	b.server.Store(new(server))
	var owner string
	err := b.conn.BusObject().CallWithContext(ctx, busName+".GetNameOwner", dbus.FlagNoAutoStart, serverName).Store(&owner)
	if e, ok := errors.AsType[dbus.Error](err); ok && e.Name == noSuchOwner {
		return errNoServer
	} else if err != nil {
		return fmt.Errorf("the session bus does not answer: %w", err)
	}
	var can []string
	if err := b.call(ctx, owner, "GetCapabilities").Store(&can); err != nil {
		return fmt.Errorf("the notification server does not answer: %w", err)
	}
	b.server.Store(&server{owner, slices.Contains(can, "body-markup")})
	return nil
}

// call calls a method of the server, by its unique name: no other process is meant.
func (b *bus) call(ctx context.Context, owner, method string, args ...any) *dbus.Call {
	return b.conn.Object(owner, serverPath).CallWithContext(ctx, serverName+"."+method, dbus.FlagNoAutoStart, args...)
}

// show shows a notification in the place of another one, 0 for none, and returns its id.
func (b *bus) show(ctx context.Context, replaces uint32, summary, body string, expires time.Duration) (id uint32, err error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	hints := map[string]dbus.Variant{
		// Normal: a critical one may stay above a locked screen.
		"urgency":  dbus.MakeVariant(byte(1)),
		"category": dbus.MakeVariant("x-permd.question"),
	}
	ms := int32(min(max(expires.Milliseconds(), 1), 1<<31-1))
	// No actions: any process that owns the server's name could invoke one.
	err = b.call(ctx, b.server.Load().name, "Notify", "permd", replaces, "", summary, body, []string{}, hints, ms).Store(&id)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the notification server does not show it: %w", err)
	case id == 0:
		return 0, errors.New("the notification server answers with the id 0, by which nothing can be closed")
	}
	return id, nil
}

// hide closes a notification. That it is closed already is no error.
func (b *bus) hide(ctx context.Context, id uint32) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	err := b.call(ctx, b.server.Load().name, "CloseNotification", id).Err
	if _, ok := errors.AsType[dbus.Error](err); ok {
		return nil
	}
	return err
}

// endTime is how long a call may go on when the daemon ends. A notification that is just being
// shown could not be closed without its id.
const endTime = 500 * time.Millisecond

// limit returns a context for one call, which ends a moment after ctx.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	of, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	stop := context.AfterFunc(ctx, func() {
		soon := time.AfterFunc(endTime, cancel)
		context.AfterFunc(of, func() { soon.Stop() })
	})
	return of, func() { stop(); cancel() }
}

// signals passes on what the bus says of the server's name, and the server of its notifications.
// What a stranger sends is dropped, and so is what comes too fast.
type signals struct{ b *bus }

// DeliverSignal implements dbus.SignalHandler.
func (s signals) DeliverSignal(iface, member string, signal *dbus.Signal) {
	switch {
	case iface == busName && member == ownerIsNew && signal.Sender == busName:
	case iface == serverName && member == closed && signal.Sender == s.b.server.Load().name:
	default:
		return
	}
	select {
	case s.b.events <- signal:
	default:
	}
}

// noObjects has no objects to call.
type noObjects struct{}

// LookupObject implements dbus.Handler.
func (noObjects) LookupObject(dbus.ObjectPath) (dbus.ServerObject, bool) { return nil, false }
