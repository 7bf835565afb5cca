package account

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects/display"
)

// Author says who answered, and by what, as in "ana, by permd allow"; "" if that is not known.
func Author(id *author.Identity, v decisions.Verdict) string {
	if id == nil {
		return ""
	}
	return name(id.UID) + ", " + way(id.Via, v)
}

// AuthorInFull is Author with what the kernel said of the process.
func AuthorInFull(id *author.Identity, v decisions.Verdict) string {
	if id == nil {
		return ""
	}
	process := "its process not known"
	if id.PID != 0 {
		process = fmt.Sprintf("pid %d", id.PID)
		if id.Process != "" {
			process += ", " + display.Display(id.Process)
		}
	}
	return fmt.Sprintf("%s (uid %d, %s)", Author(id, v), id.UID, process)
}

// AnsweredBy is Author as the end of a sentence about an answer, "" if that is not known.
func AnsweredBy(a *decisions.HumanAnswer) string {
	if a.Author == nil {
		return ""
	}
	return " by " + Author(a.Author, a.Verdict)
}

// name returns the name of a user, which may have changed since.
func name(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	lookup := func() (*user.User, error) { return user.LookupId(id) }
	if int64(uid) == int64(os.Geteuid()) {
		lookup = user.Current // which remembers it: pages ask each time that they are drawn
	}
	if u, err := lookup(); err == nil && u.Username != "" {
		return display.Display(u.Username)
	}
	return "uid " + id
}

// way says how an answer came.
func way(via author.Via, v decisions.Verdict) string {
	switch via {
	case author.Client:
		return "in the client that asked"
	case author.Command:
		if v == decisions.Deny {
			return "by permd deny"
		}
		return "by permd allow"
	case author.Review:
		return "on the page of permd review"
	case author.Web:
		return "in the browser"
	case author.Lock:
		return "by permd lock"
	case author.Admin:
	}
	return "over the management socket"
}
