package decisions

import (
	"reflect"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// whole returns a request in which no field is empty.
func whole(t *testing.T) *Request {
	t.Helper()
	text := func(s string) []string { return []string{s} }
	return &Request{
		Call: effects.Call{
			ID: "run_shell_command__7", Protocol: "acp", InputFrom: "rawInput",
			Tool:     effects.Tool{Name: "tool", Server: "server", Source: "source", Version: "1.0.0"},
			Declared: &effects.DeclaredTool{Name: "tool", Members: []effects.DeclaredMember{{Name: "command", Means: "command"}}},
			Input:    []byte(`{"command":"ls"}`), ReplyTo: "https://a.example",
			Credentials: effects.Credentials{
				Secrets: text("KEY"), Authorizations: []effects.Authorization{{ID: "idp", Scopes: text("scope")}},
			},
			Claims: effects.Claims{
				Kind: "execute", Title: "title", Prompt: "prompt", User: "dana", TraceID: "tr-1", Locations: []effects.Location{{Path: "/a", From: "b"}},
				Diffs: []effects.Diff{{Path: "/a", OldPath: "/b", Operation: "move", From: "c"}},
				Texts: text("text"), Meta: []byte(`{"a":1}`), Status: "pending", Options: text("allow_once"),
			},
			Agent: effects.Party{Name: "agent", Version: "1"}, Client: effects.Party{Name: "client", Version: "2"},
			Cwd: t.TempDir(), Roots: text("/root"),
			User:       effects.User{UID: 1, Name: "ada", Home: "/home/ada", Groups: text("g"), Env: map[string]string{"HOME": "/home/ada"}},
			Marks:      []effects.Mark{{Kind: effects.KindMode, Why: "why", From: "from"}},
			Defects:    []effects.Defect{{Code: "code", At: "at", Text: "text"}},
			Incomplete: "gap", Confined: "mode", LiveShell: true, Folders: text("/folder"), Activated: text("/bin"),
		},
		Peer:        Peer{UID: 1, GID: 2, PID: 3},
		Session:     SessionRef{Conn: 4, ID: "s", Ancestors: text("p"), Mode: "mode", OneRequest: true},
		Reconsiders: "an id", HarnessAsks: "asks", Forbidden: "twice", Gate: &Gate{}, Ran: RanUnprompted, Unrecorded: true, Decided: &Decision{}, Refused: Unmet, Recent: 7,
	}
}

// unseen are the fields that rules cannot depend on, since evaluate does not get
// them (see cacheableRequest).
var unseen = []string{".Peer.GID", ".Peer.PID", ".Session.Conn", ".Session.OneRequest", ".Gate", ".Ran", ".Reconsiders", ".Unrecorded", ".Decided", ".Refused", ".Recent"}

// TestKeyIsComplete changes each field of a request, however deep, by reflection:
// each field that rules can depend on makes another key.
func TestKeyIsComplete(t *testing.T) {
	base, ok := appendRequest(nil, whole(t))
	if !ok {
		t.Fatal("the request has no key")
	}
	if again, _ := appendRequest(nil, whole(t)); string(again) == string(base) {
		t.Fatal("another folder, and the same key") // t.TempDir is new each time
	}
	cwd := whole(t).Call.Cwd
	fresh := func() *Request {
		r := whole(t)
		r.Call.Cwd = cwd
		return r
	}
	base, _ = appendRequest(nil, fresh())
	changed := 0
	for _, path := range leaves(reflect.ValueOf(fresh()).Elem(), "") {
		for _, change := range path.changes {
			r := fresh()
			change(path.at(reflect.ValueOf(r).Elem()))
			key, ok := appendRequest(nil, r)
			same := ok && string(key) == string(base)
			if want := slices.Contains(unseen, path.name); same != want {
				t.Errorf("%s: the same key is %v, want %v", path.name, same, want)
			}
			if ok && same && !reflect.DeepEqual(cacheableRequest(r), cacheableRequest(fresh())) {
				t.Errorf("%s: consider is given what is not in the key", path.name)
			}
			changed++
		}
	}
	if changed < 60 {
		t.Errorf("only %d changes were tried", changed)
	}
}

// leaf is one field in a tree of values.
type leaf struct {
	name    string
	at      func(root reflect.Value) reflect.Value
	changes []func(reflect.Value)
}

// leaves walks all fields of a value. An empty field fails the test: whole must
// fill it.
func leaves(v reflect.Value, name string) (all []leaf) {
	self := func(v reflect.Value) reflect.Value { return v }
	below := func(inner []leaf, step func(reflect.Value) reflect.Value) {
		for _, l := range inner {
			at := l.at
			l.at = func(root reflect.Value) reflect.Value { return at(step(root)) }
			all = append(all, l)
		}
	}
	add := func(changes ...func(reflect.Value)) { all = append(all, leaf{name, self, changes}) }
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[effects.Disturbance]() {
			add(func(v reflect.Value) { v.Set(reflect.ValueOf(effects.UnknownDisturbance())) })
			return all
		}
		for i := range v.NumField() {
			below(leaves(v.Field(i), name+"."+v.Type().Field(i).Name), func(v reflect.Value) reflect.Value { return v.Field(i) })
		}
	case reflect.Slice:
		if v.Len() == 0 {
			panic(name + " is empty")
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			add(func(v reflect.Value) { v.SetBytes([]byte(`{"b":2}`)) }, func(v reflect.Value) { v.SetZero() },
				func(v reflect.Value) { v.SetBytes([]byte{}) })
			return all
		}
		add(func(v reflect.Value) { v.SetZero() }, func(v reflect.Value) { v.Set(reflect.Append(v, v.Index(0))) })
		below(leaves(v.Index(0), name+"[0]"), func(v reflect.Value) reflect.Value { return v.Index(0) })
	case reflect.Map:
		add(func(v reflect.Value) { v.SetZero() },
			func(v reflect.Value) { v.SetMapIndex(reflect.ValueOf("HOME"), reflect.ValueOf("/other")) },
			func(v reflect.Value) { v.SetMapIndex(reflect.ValueOf("TMPDIR"), reflect.ValueOf("/other")) })
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*effects.Call]() {
			add(func(v reflect.Value) { v.Set(reflect.ValueOf(new(effects.Call))) }) // a request with one is not cached
			return all
		}
		add(func(v reflect.Value) { v.SetZero() })
	case reflect.String:
		if v.Len() == 0 {
			panic(name + " is empty")
		}
		add(func(v reflect.Value) { v.SetString("x" + v.String()) }, func(v reflect.Value) { v.SetString("") })
	case reflect.Bool:
		add(func(v reflect.Value) { v.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int32, reflect.Int64:
		add(func(v reflect.Value) { v.SetInt(v.Int() + 1) })
	case reflect.Uint32, reflect.Uint64:
		add(func(v reflect.Value) { v.SetUint(v.Uint() + 1) })
	default:
		panic("fields of kind " + v.Kind().String() + " are not known: " + name)
	}
	return all
}

// TestKeyOfIDs: two equal calls with different ids have one key, unless the ids
// have a tool's name.
func TestKeyOfIDs(t *testing.T) {
	key := func(id string) string {
		r := whole(t)
		r.Call.ID, r.Call.Cwd = id, "/"
		k, _ := appendRequest(nil, r)
		if got := cacheableRequest(r).Call.ID; got != toolOfID(id) {
			t.Errorf("%s: consider is given the id %q", id, got)
		}
		return string(k)
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"toolu_01", "toolu_02", true},
		{"shell__1", "shell__2", true},
		{"shell__1", "read__1", false},
		{"shell__1", "1", false},
	} {
		if same := key(tt.a) == key(tt.b); same != tt.same {
			t.Errorf("%s and %s: the same key is %v", tt.a, tt.b, same)
		}
	}
}
