// Package systemd implements the protocols of the service manager: socket
// activation, and notifications of permd's state. Without a service manager all
// functions do nothing. It does not use systemd's library.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/daemon"
)

// maxStatus is how long a status text may be, in bytes.
const maxStatus = 1024

// Ready says that permd answers, also after a reload, whatever its outcome.
func Ready(status string) error { return send(daemon.SdNotifyReady + "\n" + field(status)) }

// Reloading tells the service manager that permd reads its rules again; Ready
// must follow. The time is in the same datagram: systemd takes a message
// without it for one of the previous reload, and from version 257 on waits for
// it without end.
func Reloading() error {
	return send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping says that permd ends.
func Stopping(status string) error { return send(daemon.SdNotifyStopping + "\n" + field(status)) }

// Status shows a text in systemctl status.
func Status(text string) error { return send(field(text)) }

// Watchdog tells the service manager, while ctx lives, that permd is sound:
// twice in each interval that the manager asks for, if canary returns nil within
// half of it. After a failure, which onFailure gets, nothing is sent, so that a
// permd that no longer decides is started again. Without a watchdog it returns
// nil at once.
func Watchdog(ctx context.Context, canary func(context.Context) error, onFailure func(error)) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("reading the watchdog's interval: %w", err)
	}
	if interval == 0 {
		return nil
	}
	feed(ctx, interval/2, canary, onFailure, func() error { return send(daemon.SdNotifyWatchdog) })
	return nil
}

// feed runs canary now and every period.
func feed(ctx context.Context, period time.Duration, canary func(context.Context) error, onFailure func(error), alive func() error) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		if err := try(ctx, period, canary); err != nil {
			if ctx.Err() != nil {
				return
			}
			onFailure(fmt.Errorf("checking for the watchdog: %w", err))
		} else if err := alive(); err != nil {
			onFailure(fmt.Errorf("telling the watchdog: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func try(ctx context.Context, limit time.Duration, canary func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := canary(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// field is the assignment of a status. A line break in the text would begin
// another assignment.
func field(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "")
	}
	return "STATUS=" + text
}

// notifyTimeout is how long a message to the service manager may take. It takes no
// time, unless the manager does not read: permd must answer all the same.
const notifyTimeout = time.Second

func send(state string) error {
	if err := write(os.Getenv("NOTIFY_SOCKET"), state); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}

// write sends one datagram. It is not the library's, which waits without end
// while the socket's queue is full.
func write(path, state string) error {
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	err = c.SetWriteDeadline(time.Now().Add(notifyTimeout))
	if err == nil {
		_, err = c.Write([]byte(state))
	}
	return errors.Join(err, c.Close())
}
