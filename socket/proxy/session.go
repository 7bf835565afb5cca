package proxy

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// The methods of ACP that say where a session works.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodFork       = "session/fork"
	methodClose      = "session/close"
	methodDelete     = "session/delete"
	methodSetMode    = "session/set_mode"
	methodSetOption  = "session/set_config_option"
	methodPrompt     = "session/prompt"
)

// session is the state of one session.
type session struct {
	id      string
	cwd     string
	roots   strictjson.Value // an array
	parent  string
	mode    string
	modes   []string // ids of configuration options that are modes
	loading int      // session/load requests that are not answered
	// openedAt is where the agent has opened it, according to its answers; nil if
	// nowhere. openedBy is the number of the request that it answered.
	openedAt *location
	openedBy uint64
	pending  []*call    // unanswered requests to open it elsewhere, in order
	former   []location // earlier places, the latest last; permd applies the rules of these, too
	// replaying is set while updates about calls are history: from session/load until the
	// client sends something in the session.
	replaying bool
	turn      turn
}

// sessions are those of one conversation, in order of their opening.
type sessions struct {
	byID map[string]*session
	list []*session
}

func (s *sessions) add(one *session) bool {
	if len(s.list) >= maxSessions {
		return false
	}
	s.byID[one.id] = one
	s.list = append(s.list, one)
	return true
}

func (s *sessions) remove(id string) {
	delete(s.byID, id)
	s.list = slices.DeleteFunc(s.list, func(one *session) bool { return one.id == id })
}

// loading reports whether history is being replayed.
func (s *sessions) loading() bool {
	return slices.ContainsFunc(s.list, func(one *session) bool { return one.loading > 0 })
}

// root returns the only session that the client has opened, nil if there is none or more
// than one.
func (s *sessions) root() (root *session) {
	for _, one := range s.list {
		if one.parent == "" {
			if root != nil {
				return nil
			}
			root = one
		}
	}
	return root
}

// call is a request of the client whose answer changes a session.
type call struct {
	method  string
	session string
	cwd     string
	roots   strictjson.Value
	mode    string
	number  uint64 // in their order
}

// note records a request of the client whose answer changes a session.
func (c *core) note(m *message) {
	k := &call{method: m.method, session: text(m.params, "sessionId")}
	switch m.method {
	case methodInitialize:
		c.parties[clientSide] = party(strictjson.Find(m.params, "clientInfo"))
	case methodNew, methodLoad, methodResume, methodFork:
		k.cwd = text(m.params, "cwd")
		k.roots = textArray(strictjson.Find(m.params, "additionalDirectories"))
	case methodSetMode:
		k.mode = text(m.params, "modeId")
	case methodSetOption:
		k.mode = text(m.params, "value")
	case methodClose, methodDelete:
	case methodPrompt:
		if s := c.sessions.byID[k.session]; s != nil {
			s.replaying = false
		}
	default:
		return
	}
	if m.method == methodFork {
		k.session = "" // the answer names another one
	}
	c.last++
	k.number = c.last
	kept := len(c.calls[clientSide]) < maxCalls
	if (m.method == methodLoad || m.method == methodResume) && k.session != "" {
		// Sent before the answer, so that the project's rules are loaded when
		// the agent continues.
		s := c.sessions.byID[k.session]
		if s == nil {
			s = c.open(&session{id: k.session, cwd: k.cwd, roots: k.roots})
		}
		if s != nil {
			if kept {
				s.pending = append(s.pending, k)
			} else {
				s.onOpened(k) // its answer will not be recognised
			}
			c.updatePlace(s)
		}
		if s != nil && m.method == methodLoad {
			s.loading++
			s.replaying = true
		}
	}
	if kept {
		if twice := c.calls[clientSide][key(m.id)]; twice != nil {
			c.onNotOpened(twice)
		}
		c.calls[clientSide][key(m.id)] = k
		if s := c.sessions.byID[k.session]; m.method == methodPrompt && s != nil {
			s.turn.onPrompt()
		}
	}
}

// answerOf handles the answer to a request of a side.
func (c *core) answerOf(from peerSide, m *message) {
	if len(c.calls[from]) == 0 {
		return
	}
	k, ok := c.calls[from][key(m.id)]
	if !ok {
		return
	}
	delete(c.calls[from], key(m.id))
	s := c.sessions.byID[k.session]
	if k.method == methodLoad && s != nil && s.loading > 0 {
		s.loading--
	}
	if k.method == methodPrompt && s != nil && (c.version != 2 || m.result == nil) {
		s.turn.onPromptAnswered()
	}
	if k.method == methodPrompt && c.version != 2 {
		c.onTurnEnd(k.session)
	}
	if m.result == nil {
		c.onNotOpened(k)
		return
	}
	switch k.method {
	case methodInitialize:
		c.initialized(m.result)
	case methodNew, methodFork, methodLoad, methodResume:
		if id := text(m.result, "sessionId"); id != "" && k.session == "" {
			s = c.sessions.byID[id]
			if s == nil {
				s = c.open(&session{id: id, cwd: k.cwd, roots: k.roots})
			} // else the agent has spoken of it before
		}
		if s != nil {
			s.pending = slices.DeleteFunc(s.pending, func(p *call) bool { return p == k })
			s.onOpened(k)
			c.updatePlace(s)
			c.setMode(s, text(m.result, "modes", "currentModeId"))
			s.options(strictjson.Find(m.result, "configOptions"))
		}
	case methodSetMode:
		if s != nil {
			c.setMode(s, k.mode)
		}
	case methodSetOption:
		if s != nil {
			s.options(strictjson.Find(m.result, "configOptions"))
		}
	case methodClose, methodDelete:
		c.closed(k.session)
	}
}

func (c *core) initialized(result strictjson.Value) {
	switch string(strictjson.Find(result, "protocolVersion")) {
	case "1":
		c.version = 1
	case "2":
		c.version = 2
	}
	for _, name := range []string{"agentInfo", "info"} {
		if p := party(strictjson.Find(result, name)); p.Name != "" {
			c.parties[agentSide] = p
			return
		}
	}
}

// open declares a session to permd, and returns nil if there are too many.
func (c *core) open(s *session) *session {
	if !c.sessions.add(s) {
		return nil
	}
	c.declare(s)
	return s
}

// setMode records the mode of a session.
func (c *core) setMode(s *session, mode string) {
	if mode != "" && mode != s.mode {
		s.mode = mode
		c.declare(s)
	}
}

func (c *core) closed(id string) {
	s := c.sessions.byID[id]
	if s == nil {
		return
	}
	c.sessions.remove(id)
	c.contents.forget(id)
	c.ask(native.MethodClose, object(member("sessionId", id)), true)
	c.runs.forget(id)
}

// declare declares a session to permd, unless its folder is not known.
func (c *core) declare(s *session) { c.declareAt(s, s.place()) }

// declareAgain declares a session to a permd that does not know it, including
// its earlier folder.
func (c *core) declareAgain(s *session) {
	for _, was := range s.former {
		c.declareAt(s, was)
	}
	c.declare(s)
}

func (c *core) declareAt(s *session, at location) {
	if at.cwd == "" {
		return
	}
	d := client.Session{ID: s.id, Cwd: at.cwd, Parent: at.parent, Mode: s.mode, ProtocolVersion: c.version}
	if at.roots != nil {
		// They are an array of strings, see paths.
		_ = strictjson.Unmarshal(at.roots, &d.Roots)
	}
	if p := c.parties[agentSide]; p.Name != "" {
		d.Agent = &p
	}
	if p := c.parties[clientSide]; p.Name != "" {
		d.Client = &p
	}
	c.declaring[c.ask(native.MethodSession, encoded(d), true)] = s.id
}

// declareUnknown declares a session that the agent mentions and permd does not know.
// Agents open sessions of their own; only the ids of these are known. If the client has
// opened just one session they must belong to it.
func (c *core) declareUnknown(id string) *session {
	if s := c.sessions.byID[id]; s != nil {
		return s
	}
	root := c.sessions.root()
	if id == "" || root == nil || root.cwd == "" || c.sessions.loading() || c.isOpening() {
		return nil
	}
	at := location{root.cwd, root.roots, root.id}
	return c.open(&session{id: id, cwd: at.cwd, roots: at.roots, parent: at.parent, openedAt: &at})
}

// isOpening reports whether the client is opening a session: the agent may use
// its id before it has announced it.
func (c *core) isOpening() bool {
	for _, k := range c.calls[clientSide] {
		if k.method == methodNew || k.method == methodFork {
			return true
		}
	}
	return false
}

// party reads the name and version of a program.
func party(v strictjson.Value) effects.Party {
	return effects.Party{Name: text(v, "name"), Version: text(v, "version")}
}

// textArray returns an array of strings, nil for everything else.
func textArray(v strictjson.Value) strictjson.Value {
	if strictjson.Kind(v) != '[' {
		return nil
	}
	items, err := strictjson.ParseArray(v)
	if err != nil || slices.ContainsFunc(items, func(i strictjson.Value) bool { return strictjson.Kind(i) != '"' }) {
		return nil
	}
	return slices.Clone(v)
}

// options records which of a session's configuration options are modes.
func (s *session) options(v strictjson.Value) {
	if strictjson.Kind(v) != '[' {
		return
	}
	items, err := strictjson.ParseArray(v)
	if err != nil {
		return
	}
	s.modes = nil
	for _, item := range items {
		if text(item, "category") == "mode" {
			s.modes = append(s.modes, text(item, "id"))
		}
	}
}
