package proxy

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
)

// A client may know a method by a name that is not quite the one that permd reads: it
// may ignore case, white space or separators, have a later version of the protocol,
// or be a conductor that takes a message out of an envelope. Whatever could be such a
// name of what permd decides about does not reach it. Names of others pass: the
// extensions of agents and what else the protocol has.

// decidedMethods are the methods of an agent whose messages permd decides or reads.
var decidedMethods = []string{
	acp.MethodRequestPermission, acp.MethodUpdate, methodElicit, methodTerminal, methodWrite, methodRead,
}

// plainMethods are the methods for terminals and files that do nothing new: they are
// about an existing terminal.
var plainMethods = []string{"terminal/output", "terminal/release", "terminal/wait_for_exit", "terminal/kill"}

// foldedUpdate may be part of the name of something else that is about a session.
var foldedUpdate = foldMethod(acp.MethodUpdate)

var (
	errMisnamed   = errors.New("the method's name may be taken for that of another method")
	errUnknownAct = errors.New("permd does not know what this method has the client do with files or terminals")
	errNoProxy    = errors.New("what proxies say to a conductor cannot come from an agent; a proxy of a chain is permd acp --proxy")
)

// checkMethod returns an error if a message of an agent with that method must not be
// passed on.
func checkMethod(method string) error {
	if slices.Contains(decidedMethods, method) || slices.Contains(plainMethods, method) {
		return nil
	}
	if strings.ContainsFunc(method, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("_/.$:-", r) }) {
		return errMisnamed
	}
	folded := foldMethod(method)
	for _, decided := range decidedMethods {
		decided := foldMethod(decided)
		if folded == decided || decided != foldedUpdate && strings.Contains(folded, decided) {
			return errMisnamed
		}
	}
	switch area(method) {
	case "terminal", "fs":
		return errUnknownAct
	case "proxy":
		return errNoProxy
	}
	return nil
}

// area returns the first word of a method's name, in lower case.
func area(method string) string {
	word := strings.TrimLeftFunc(method, func(r rune) bool { return !letterOrDigit(r) })
	if i := strings.IndexFunc(word, func(r rune) bool { return !letterOrDigit(r) }); i >= 0 {
		word = word[:i]
	}
	return strings.ToLower(word)
}

// foldMethod returns the name without case and separators.
func foldMethod(method string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if letterOrDigit(r) {
			return r
		}
		return -1
	}, method))
}

func letterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// refuseMethod answers a message of the agent whose method is not passed on.
func (c *core) refuseMethod(m *message, why error) {
	if m.id != nil {
		c.reply(agentSide, failure(m.id, socket.CodeMethod, "permd acp: "+why.Error()))
	}
	c.print("a message of the agent was not passed on: " + why.Error())
}
