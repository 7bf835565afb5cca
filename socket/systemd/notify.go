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

// maxStatus bounds a status text, in bytes.
const maxStatus = 1024

// Ready reports that permd answers requests. It also ends a reload, whether that
// succeeded or not.
func Ready(status string) error { return send(daemon.SdNotifyReady + "\n" + statusField(status)) }

// Reloading reports that permd is reloading its rules; Ready must follow. The time has
// to be in the same datagram: without it, systemd takes the message for one of the
// previous reload, and since version 257 waits for it forever.
func Reloading() error {
	return send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping reports that permd is shutting down.
func Stopping(status string) error { return send(daemon.SdNotifyStopping + "\n" + statusField(status)) }

// Status sets the text that systemctl status shows.
func Status(text string) error { return send(statusField(text)) }

// Watchdog reports to the service manager that permd works, twice per watchdog interval,
// until ctx is done. Before each report it calls canary, which has half an interval to
// return nil. If it fails, onFailure is called and no report is sent, so that the
// service manager restarts a permd that no longer decides. If there is no watchdog,
// Watchdog returns nil at once.
func Watchdog(ctx context.Context, canary func(context.Context) error, onFailure func(error)) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("reading the watchdog's interval: %w", err)
	}
	if interval == 0 {
		return nil
	}
	runWatchdog(ctx, interval/2, canary, onFailure, func() error { return send(daemon.SdNotifyWatchdog) })
	return nil
}

// runWatchdog runs canary at once and then every period.
func runWatchdog(ctx context.Context, period time.Duration, canary func(context.Context) error, onFailure func(error), alive func() error) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		if err := runCanary(ctx, period, canary); err != nil {
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

func runCanary(ctx context.Context, limit time.Duration, canary func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := canary(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// statusField returns the field that sets the status text. Control characters are
// replaced: a newline would start another field.
func statusField(text string) string {
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

// notifyTimeout bounds the sending of a message. It takes no time unless the service
// manager is not reading, and even then permd has to answer its clients.
const notifyTimeout = time.Second

func send(state string) error {
	if err := sendDatagram(os.Getenv("NOTIFY_SOCKET"), state); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}

// sendDatagram sends one datagram. The library's function is not used because it blocks
// while the socket's queue is full.
func sendDatagram(path, state string) error {
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
