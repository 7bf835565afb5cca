package systemwide

import (
	"context"

	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/cmd/permd/internal/userrules"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// reach is what a peer that is no admin gets of a management method.
type reach int

const (
	// nothing: the method is about the whole daemon, or tells of everybody's calls.
	nothing reach = iota
	// own: the method itself looks only at what is the peer's uid's: admin.Deps for
	// records, and the owner of choices, questions, pauses and rules.
	own
)

// reaches has each method of the management socket. One that is not here is for admins.
var reaches = map[string]reach{
	admin.MethodStatus: own, // without other people's layers, pauses and counts: see Deps.Status
	admin.MethodReload: nothing,

	// The journal: records whose peer has the uid.
	admin.MethodList:   own,
	admin.MethodShow:   own,
	admin.MethodFind:   own,
	admin.MethodTally:  own,
	admin.MethodFollow: own,
	explain.Method:     own,

	// Remembered choices, by their uid.
	admin.MethodChoicesList:      own,
	admin.MethodChoicesShow:      own,
	admin.MethodChoicesForget:    own,
	admin.MethodChoicesConfirm:   own,
	admin.MethodChoicesAdd:       own,
	admin.MethodChoicesChange:    own,
	admin.MethodChoicesImport:    own,
	admin.MethodChoicesTryImport: own,
	admin.MethodChoicesPreview:   own, // counted among the records of the choice's uid
	admin.MethodChoicesHistory:   own,
	admin.MethodChoicesUndo:      own,

	// Questions, by the uid that asked.
	admin.MethodQuestionsList:  own,
	admin.MethodQuestionsAllow: own,
	admin.MethodQuestionsDeny:  own,

	// Pauses and locks are in force for the calls of the uid that began them, and end by it.
	admin.MethodPause:  own,
	admin.MethodResume: own,
	admin.MethodLock:   own,
	admin.MethodUnlock: own,

	// The rules of the peer's uid.
	userrules.MethodPush: own,
	userrules.MethodPull: own,

	// What the peer's uid trusts.
	admin.MethodTrustSet:    own,
	admin.MethodTrustList:   own,
	admin.MethodTrustTry:    own,
	admin.MethodTrustRevoke: own,

	// Reports on the calls of all people.
	shadow.Method:   nothing,
	rulecost.Method: nothing,
}

// Restrict has the methods that are for admins refuse all others.
func Restrict(m socket.Methods) {
	for name, method := range m {
		if reaches[name] == own {
			continue
		}
		m[name] = func(c *socket.Conn, params strictjson.Value) (run, error) {
			if !c.Everybody() {
				return nil, &socket.Error{Code: socket.CodeRequest, Message: name + " is for root and the organisation's admins"}
			}
			return method(c, params)
		}
	}
}

type run = func(context.Context) (any, error)
