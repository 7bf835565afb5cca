package engine

import (
	"context"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/rap"
)

// Methods returns the methods of the decision socket, of all protocols.
func (e *Engine) Methods() socket.Methods {
	m := socket.Methods{}
	deps := native.Deps{
		Sessions: e.Sessions, Decider: e.Decisions, Users: e.Users.Lookup, LiveShell: e.rules.liveShell, Declarable: e.rules.declarable, Keeper: e.Keeper(), Changes: e.config.Changes,
		Persistent: e.Persistent, Waiting: e.Waiting, Rules: e.rulesDigest, NewID: newID, Prepare: e.prepare, RecordAnswer: e.config.Answered, RecordRun: e.config.HasRun, NeverAllowed: e.Decisions.NeverAllowed, RecordEnd: e.config.HasEnded,
		PlainOption: e.rules.allowOnceOption, HarmlessEnv: e.rules.harmlessEnv, AskGates: e.rules.AskGates, Version: buildinfo.Version(), Ran: e.config.Ran,
	}
	for _, register := range []func(socket.Methods, native.Deps){
		native.Register, acp.Register, otc.Register, aap.Register, rap.Register,
	} {
		register(m, deps)
	}
	for _, name := range []string{
		native.MethodDecide, otc.MethodCall, aap.MethodPermissions, aap.MethodAnswer, rap.MethodInvoke,
	} {
		m[name] = acp.InTurn(e.Sessions, m[name])
	}
	return m
}

// prepare loads the rules of a project before the first call in it.
func (e *Engine) prepare(ctx context.Context, uid uint32, project string) {
	if err := e.rules.Prepare(ctx, uid, project); err != nil {
		e.config.Log.Warn("the rules for a project could not all be read", "project", project, "error", err)
	}
}

// rulesDigest returns the digest of the rules for calls of that user in that folder, ""
// if they are not loaded.
func (e *Engine) rulesDigest(uid uint32, cwd string) string {
	snap, err := e.rules.Snapshot(uid, paths.FindProject(e.FS, cwd, e.Users.Lookup(uid).Home))
	if err != nil {
		return ""
	}
	return snap.Digest()
}
