package aap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// theStream is a stream with one call of the tool t.
const theStream = "event: turn_start\ndata: {}\n\n" +
	"event: tool_call\ndata: {\"toolCallId\":\"x\",\"name\":\"t\",\"input\":{\"n\":1}}\n\n" +
	"event: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"

// renamed is an event that is a call only for readers that take its name from its
// data.
const renamed = `{"event":"tool_call","toolCallId":"x","name":"t","input":{"n":2}}`

// TestStreams has streams that say the same in different forms.
func TestStreams(t *testing.T) {
	for name, text := range map[string]string{
		"plain":                 theStream,
		"CRLF":                  strings.ReplaceAll(theStream, "\n", "\r\n"),
		"a byte order mark":     "\ufeff" + theStream,
		"comments":              ": hello\n" + strings.ReplaceAll(theStream, "data:", ": ping\ndata:"),
		"a comment of its own":  strings.ReplaceAll(theStream, "\n\n", "\n\n: ping\n\n"),
		"no spaces":             strings.ReplaceAll(strings.ReplaceAll(theStream, "data: ", "data:"), "event: ", "event:"),
		"ids and waits":         strings.ReplaceAll(theStream, "data:", "id: 7\nretry: 10\ndata:"),
		"data before its name":  "data: {}\nevent: turn_start\n\n" + theStream[strings.Index(theStream, "event: tool_call"):],
		"data in two lines":     strings.Replace(theStream, `"name":`, "\ndata: \"name\":", 1),
		"unknown events":        strings.Replace(theStream, "event: tool_call", "event: usage\ndata: not even JSON\n\nevent: tool_call", 1),
		"an event without name": strings.Replace(theStream, "event: tool_call", "data: [DONE]\n\nevent: tool_call", 1),
		"unknown fields":        strings.Replace(theStream, "event: tool_call", "sequence: 1\nevent: tool_call", 1),
		"line separators":       strings.Replace(theStream, `{"n":1}`, "{\"n\":\"a\u2028b\u2029 data: \u0085\"}", 1),
		"names said twice":      strings.ReplaceAll(theStream, `{"toolCallId"`, `{"event":"tool_call","toolCallId"`),
		"unknown names in data": strings.Replace(theStream, "event: tool_call", "event: usage\ndata: {\"event\":\"month\"}\n\nevent: tool_call", 1),
		"more empty lines":      strings.ReplaceAll(theStream, "\n\n", "\n\n\n\n"),
		"no last empty line":    strings.TrimSpace(theStream),
		"further members":       strings.ReplaceAll(theStream, `{"`, `{"at":1,"`),
		"texts": strings.Replace(theStream, "event: tool_call", "event: text_delta\ndata: {\"delta\":\"event: tool_call\"}\n\n"+
			"event: thinking\ndata: {\"thinking\":\"a\\n\\nevent: turn_stop\"}\n\nevent: tool_call", 1),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["t"] = decisions.Allow
			r := d.must(t, MethodPermissions, `{"sessionId":"s",`+open+`,"turn":{"sse":`+quote(t, text)+`}}`)
			sockettest.Diff(t, "messages", []string{`{"role":"tool_permission","toolCallId":"x","granted":true}`}, posts(t, r))
		})
	}
}

// TestStreamsRefused has streams that are incomplete, or can be read in two ways.
func TestStreamsRefused(t *testing.T) {
	call := theStream[strings.Index(theStream, "event: tool_call"):strings.Index(theStream, "event: turn_stop")]
	for name, c := range map[string]struct{ text, says string }{
		"empty":                   {"", "ends before turn_stop"},
		"no end":                  {strings.TrimSuffix(theStream, "event: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"), "ends before turn_stop"},
		"cut in the last event":   {strings.TrimSuffix(theStream, "\"}\n\n"), "reading the data of turn_stop"},
		"no beginning":            {strings.TrimPrefix(theStream, "event: turn_start\ndata: {}\n\n"), "one turn_start, as its first event"},
		"two beginnings":          {"event: turn_start\ndata: {}\n\n" + theStream, "one turn_start"},
		"two turns":               {theStream + theStream, "goes on after turn_stop"},
		"a call after the end":    {theStream + call, "goes on after turn_stop"},
		"another case":            {strings.Replace(theStream, "tool_call", "Tool_call", 1), "name differs from a known one"},
		"a space behind a name":   {strings.Replace(theStream, "tool_call", "tool_call ", 1), "name differs from a known one"},
		"a field in another case": {strings.Replace(theStream, "data: {\"tool", "Data: {\"tool", 1), "a field differs from a known one"},
		"a space before a field":  {strings.Replace(theStream, "data: {\"tool", " data: {\"tool", 1), "a field differs from a known one"},
		"two names":               {strings.Replace(theStream, "event: tool_call", "event: text\nevent: tool_call", 1), "two names"},
		"a lone carriage return":  {strings.Replace(theStream, "event: tool_call\n", "event: tool_call\r", 1), "a carriage return within a line"},
		"a hidden field":          {strings.Replace(theStream, `{"n":1}`, "{\"n\":\"\u2028event: tool_call\u2028data: {}\"}", 1), "a field stands behind"},
		"a hidden field, Latin":   {strings.Replace(theStream, `{"n":1}`, "{\"n\":\"x\u0085\u0085data: {}\"}", 1), "a field stands behind"},
		"no data":                 {strings.Replace(theStream, "data: {}", "", 1), "reading the data of turn_start"},
		"data that is no JSON":    {strings.Replace(theStream, `{"n":1}`, `{"n":1`, 1), "reading the data of tool_call"},
		"a name twice":            {strings.Replace(theStream, `"name":"t"`, `"name":"t","name":"u"`, 1), "reading the data of tool_call"},
		"a name in another case":  {strings.Replace(theStream, `"name":"t"`, `"name":"t","Input":{}`, 1), "differs from a known one only by case"},
		"data that is a list":     {strings.Replace(theStream, `{"stopReason":"tool_use"}`, `["tool_use"]`, 1), "turn_stop must be an object"},
		"another reason":          {strings.Replace(theStream, "tool_use", "pause_turn", 1), "stopReason is not known"},
		"no reason":               {strings.Replace(theStream, "stopReason", "reason", 1), "stopReason is not known"},
		"the end of a turn":       {strings.Replace(theStream, "tool_use", "end_turn", 1), "has not stopped for tool_use"},
		"a thought named a call":  {strings.Replace(theStream, "event: turn_stop", "event: thinking\ndata: "+renamed+"\n\nevent: turn_stop", 1), "names another event"},
		"an unknown one":          {strings.Replace(theStream, "event: turn_stop", "event: usage\ndata: "+renamed+"\n\nevent: turn_stop", 1), "names another event"},
		"one without a name":      {strings.Replace(theStream, "event: turn_stop", "data: "+renamed+"\n\nevent: turn_stop", 1), "names another event"},
		"an unknown one, twice":   {strings.Replace(theStream, "event: turn_stop", "event: usage\ndata: "+`{"event":1,`+renamed[1:]+"\n\nevent: turn_stop", 1), "reading the data of an event"},
		"a call named a thought":  {strings.Replace(theStream, `"name":"t"`, `"name":"t","event":"thinking"`, 1), "names another event"},
		"a call named a number":   {strings.Replace(theStream, `"name":"t"`, `"name":"t","event":1`, 1), "names another event"},
		"no id":                   {strings.Replace(theStream, "toolCallId", "callId", 1), "toolCallId is missing"},
		"an empty id":             {strings.Replace(theStream, `"toolCallId":"x"`, `"toolCallId":""`, 1), "toolCallId is missing"},
		"a number for an id":      {strings.Replace(theStream, `"toolCallId":"x"`, `"toolCallId":1`, 1), "toolCallId is missing or no text"},
		"a long id":               {strings.Replace(theStream, `"toolCallId":"x"`, `"toolCallId":"`+strings.Repeat("x", socket.MaxName+1)+`"`, 1), "longer than"},
		"no name":                 {strings.Replace(theStream, `"name"`, `"tool"`, 1), "name is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["t"] = decisions.Allow
			d.Refused(t, MethodPermissions, `{"sessionId":"s",`+open+`,"turn":{"sse":`+quote(t, c.text)+`}}`, c.says)
			if len(d.got) > 0 {
				t.Error("it was decided all the same")
			}
		})
	}
}

// TestCut truncates the samples' stream at every byte: either the whole stream is
// read, or nothing.
func TestCut(t *testing.T) {
	whole := sockettest.Sample(t, "05-turn.tool_use.sse")
	full, err := readStream(whole)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(whole, "}") + 1
	for i := range len(whole) {
		got, err := readStream(whole[:i])
		if err == nil && i < last {
			t.Errorf("cut at %d, it is read as %+v", i, got)
		}
		if err == nil && len(got.items) != len(full.items) {
			t.Errorf("cut at %d, it has %d items", i, len(got.items))
		}
	}
}

// TestRefused has params that are refused.
func TestRefused(t *testing.T) {
	stop := `{"event":"turn_start"},{"event":"turn_stop","stopReason":"tool_use"}`
	for name, c := range map[string]struct{ params, says string }{
		"no session":           {`{` + open + `,` + turnOf("x t 1") + `}`, "sessionId is missing"},
		"a foreign session":    {`{"sessionId":"z",` + open + `,` + turnOf("x t 1") + `}`, "is not declared on this connection"},
		"no agent":             {`{"sessionId":"s",` + turnOf("x t 1") + `}`, "agent.name is missing"},
		"a long agent":         {`{"sessionId":"s","agent":{"name":"` + strings.Repeat("a", socket.MaxName+1) + `"},` + turnOf("x t 1") + `}`, "agent.name is longer"},
		"a tool without name":  {`{"sessionId":"s","agent":{"name":"h"},"tools":[{}],` + turnOf("x t 1") + `}`, "the name of a tool in tools is missing"},
		"a tool twice":         {`{"sessionId":"s","agent":{"name":"h"},"tools":[{"name":"t"},{"name":"t"}],` + turnOf("x t 1") + `}`, "tools: a name stands twice"},
		"a server's twice":     {`{"sessionId":"s","agent":{"name":"h","tools":[{"name":"t","trust":true},{"name":"t"}]},` + turnOf("x t 1") + `}`, "agent.tools: a name stands twice"},
		"too many tools":       {`{"sessionId":"s","agent":{"name":"h"},"tools":[` + manyTools(maxTools+1) + `],` + turnOf("x t 1") + `}`, "more than 1024 tools"},
		"trust of a kind":      {`{"sessionId":"s","agent":{"name":"h","tools":[{"name":"t","trust":"yes"}]},` + turnOf("x t 1") + `}`, "reading params"},
		"a member's case":      {`{"sessionId":"s","agent":{"name":"h"},"Tools":[],` + turnOf("x t 1") + `}`, "reading params"},
		"another meta":         {`{"sessionId":"s",` + open + `,"meta":{"version":2,"agents":[]},` + turnOf("x t 1") + `}`, "meta.version is not 3"},
		"meta without version": {`{"sessionId":"s",` + open + `,"meta":{"agents":[{"name":"helper"}]},` + turnOf("x t 1") + `}`, "meta.version is not 3"},
		"meta of others":       {`{"sessionId":"s",` + open + `,"meta":{"version":3,"agents":[{"name":"z"}]},` + turnOf("x t 1") + `}`, "does not hold the agent"},
		"meta with two":        {`{"sessionId":"s",` + open + `,"meta":{"version":3,"agents":[{"name":"helper"},{"name":"helper"}]},` + turnOf("x t 1") + `}`, "the agent twice"},
		"meta of a kind":       {`{"sessionId":"s",` + open + `,"meta":[],` + turnOf("x t 1") + `}`, "meta must be an object"},
		"an endpoint":          {`{"sessionId":"s",` + open + `,"endpoint":"ftp://x",` + turnOf("x t 1") + `}`, "endpoint must be"},
		"no turn":              {`{"sessionId":"s",` + open + `}`, "turn is missing"},
		"turn null":            {`{"sessionId":"s",` + open + `,"turn":null,"history":null}`, `must not be null`},
		"turn of a kind":       {`{"sessionId":"s",` + open + `,"turn":"event: turn_start"}`, "turn must be an object"},
		"an empty turn":        {`{"sessionId":"s",` + open + `,"turn":{}}`, "must hold one of"},
		"two forms":            {`{"sessionId":"s",` + open + `,"turn":{"sse":"","events":[]}}`, "must hold one of"},
		"two other forms":      {`{"sessionId":"s",` + open + `,"turn":{"events":[],"stopReason":"end_turn"}}`, "must hold one of"},
		"a stream of a kind":   {`{"sessionId":"s",` + open + `,"turn":{"sse":[]}}`, "turn.sse must be text"},
		"events of a kind":     {`{"sessionId":"s",` + open + `,"turn":{"events":{}}}`, "turn.events must be a list"},
		"an event of a kind":   {`{"sessionId":"s",` + open + `,"turn":{"events":["turn_start"]}}`, "an event must be an object"},
		"an event's data":      {`{"sessionId":"s",` + open + `,"turn":{"events":[{"event":"turn_start","data":{}}]}}`, "not in data"},
		"an event's name":      {`{"sessionId":"s",` + open + `,"turn":{"events":[{"event":"TURN_START"}]}}`, "only by case"},
		"an event's member":    {`{"sessionId":"s",` + open + `,"turn":{"events":[{"Event":"turn_start"}]}}`, "only by case"},
		"an event unnamed":     {`{"sessionId":"s",` + open + `,"turn":{"events":[{"type":"turn_start"}]}}`, "an event has no name"},
		"no messages":          {`{"sessionId":"s",` + open + `,"turn":{"stopReason":"tool_use"}}`, "turn.messages must be a list"},
		"no stop reason":       {`{"sessionId":"s",` + open + `,"turn":{"messages":[]}}`, "turn.stopReason must be text"},
		"a user in a turn":     {`{"sessionId":"s",` + open + `,"turn":{"stopReason":"tool_use","messages":[{"role":"user","content":""}]}}`, "a message of the client's"},
		"a permission in one":  {`{"sessionId":"s",` + open + `,"turn":{"stopReason":"tool_use","messages":[{"role":"tool_permission","toolCallId":"x"}]}}`, "a message of the client's"},
		"a role":               {`{"sessionId":"s",` + open + `,"history":[{"role":"Assistant","content":[]}]}`, "no role that is known"},
		"no role":              {`{"sessionId":"s",` + open + `,"history":[{"content":[]}]}`, "no role that is known"},
		"no content":           {`{"sessionId":"s",` + open + `,"history":[{"role":"assistant"}]}`, "must be a list"},
		"content of a kind":    {`{"sessionId":"s",` + open + `,"history":[{"role":"assistant","content":{"type":"tool_use"}}]}`, "must be a list"},
		"a block's case":       {`{"sessionId":"s",` + open + `,"history":[{"role":"assistant","content":[{"type":"Tool_Use","toolCallId":"x","name":"t","input":{}}]}]}`, "differs from tool_use only by case"},
		"a block's member":     {`{"sessionId":"s",` + open + `,"history":[{"role":"assistant","content":[{"Type":"tool_use","toolCallId":"x","name":"t","input":{}}]}]}`, "only by case"},
		"a block without type": {`{"sessionId":"s",` + open + `,"history":[{"role":"assistant","content":[{"toolCallId":"x","name":"t","input":{}}]}]}`, "a block has no type"},
		"a result without id":  {`{"sessionId":"s",` + open + `,"history":[{"role":"tool","content":"x"}]}`, "toolCallId is missing"},
		"two histories":        {`{"sessionId":"s",` + open + `,"history":{"history":{"full":[],"compacted":[]}}}`, "one of full and compacted"},
		"no history in one":    {`{"sessionId":"s",` + open + `,"history":{}}`, "one of full and compacted"},
		"history of a kind":    {`{"sessionId":"s",` + open + `,"history":"x"}`, "history must be a list"},
		"a call beside":        {`{"sessionId":"s",` + open + `,` + turnOf("x t 1") + `,` + historyOf("user", "y t 1") + `}`, "a call without a result that the turn does not have"},
		"a batch":              {`{"sessionId":"s",` + open + `,"batchId":"b9","turn":{"events":[` + stop + `]}}`, "no batch of that batchId"},
		"too many calls":       {`{"sessionId":"s",` + open + `,` + turnOf(manyCalls(maxCalls+1)...) + `}`, "more than 256 calls wait"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["t"] = decisions.Allow
			d.Refused(t, MethodPermissions, c.params, c.says)
			if len(d.got) > 0 {
				t.Error("it was decided all the same")
			}
		})
	}
}

func manyTools(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	return strings.Join(list, ",")
}

func manyCalls(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("x%d t %d", i, i))
	}
	return list
}

// TestBounds: a request exactly at a bound is decided, and one above it is refused.
func TestBounds(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["t"] = decisions.Allow
	if r := d.must(t, MethodPermissions, `{"sessionId":"s",`+open+`,`+turnOf(manyCalls(maxCalls)...)+`}`); len(r.Messages) != maxCalls || d.batches != 1 {
		t.Errorf("%d messages, %d batches", len(r.Messages), d.batches)
	}
	d.must(t, MethodPermissions, `{"sessionId":"s","agent":{"name":"h"},"tools":[`+manyTools(maxTools)+`],`+turnOf("x t 1")+`}`)
	id := strings.Repeat("x", socket.MaxName)
	if r := d.must(t, MethodPermissions, `{"sessionId":"s",`+open+`,`+turnOf(id+" t 1")+`}`); r.Messages[0].ToolCallID != id {
		t.Error("the longest id is not that of the message")
	}
	// Calls that have their results are as many as there are.
	var parts []string
	for i := range maxCalls + 1 {
		parts = append(parts, fmt.Sprintf("x%d t 1", i), fmt.Sprintf("x%d", i))
	}
	if r := d.must(t, MethodPermissions, `{"sessionId":"s",`+open+`,`+turnOf(parts...)+`}`); len(r.Calls) != maxCalls+1 || len(r.Messages) != 0 {
		t.Errorf("%d calls, %d messages", len(r.Calls), len(r.Messages))
	}
	many := theStream[:strings.Index(theStream, "event: tool_call")] + strings.Repeat("event: usage\n\n", maxItems+1)
	d.Refused(t, MethodPermissions, `{"sessionId":"s",`+open+`,"turn":{"sse":`+quote(t, many)+`}}`, "events")
	d.Refused(t, MethodPermissions, `{"sessionId":"s",`+open+`,"history":[`+strings.Repeat(`{"role":"user","content":""},`, maxItems)+`{"role":"user","content":""}]}`, "calls and results")
}

func TestEndpoint(t *testing.T) {
	d := newDaemon(t)
	d.must(t, MethodPermissions, `{"sessionId":"s",`+known+`,"endpoint":"https://k:canary@example.com/v1?canary",`+turnOf("a mine 1", "b theirs 1")+`}`)
	if a, b := d.got[0].Call.Tool, d.got[1].Call.Tool; a.Source != "" || a.Server != "" || b.Source != "https://example.com/v1" || b.Server != "helper" {
		t.Errorf("tools %+v and %+v", a, b)
	}
}

// TestNothingElseIsRead puts a canary into everything that is not a call: it must
// not reach rules, the log or the answer.
func TestNothingElseIsRead(t *testing.T) {
	const canary = "canary-7f3a"
	params := `{"sessionId":"s","endpoint":"https://u:` + canary + `@example.com/?k=` + canary + `",
		"agent":{"name":"helper","tools":[{"name":"t","description":"` + canary + `"}],"options":{"token":"` + canary + `"},"key":"` + canary + `"},
		"tools":[{"name":"mine","title":"` + canary + `","description":"` + canary + `","parameters":{"x":"` + canary + `"}}],
		"meta":{"version":3,"secret":"` + canary + `","agents":[{"name":"helper","title":"` + canary + `","tools":[],"options":[{"name":"o","type":"secret","default":"` + canary + `"}]}]},
		"callback_url":"https://` + canary + `",
		"turn":{"stopReason":"tool_use","usage":"` + canary + `","messages":[
			{"role":"system","content":"` + canary + `"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"` + canary + `"},{"type":"image","url":"` + canary + `"},
				{"type":"tool_use","toolCallId":"w","name":"t","input":{},"signature":"` + canary + `"}]},
			{"role":"tool","toolCallId":"w","content":"` + canary + `"},
			{"role":"assistant","content":[{"type":"tool_use","toolCallId":"x","name":"t","input":{"n":1},"callback_url":"` + canary + `"}]}]},
		"history":[{"role":"user","content":"` + canary + `"},{"role":"assistant","content":"` + canary + `"}]}`
	d := newDaemon(t)
	r := d.Must(t, MethodPermissions, params)
	for what, text := range map[string]string{"the result": r, "the request": fmt.Sprintf("%+v", *d.got[0])} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds it: %s", what, text)
		}
	}
	// Nor is it in an error, wherever something is wrong.
	for _, wrong := range []string{`"w"`, `"t"`, `"tool_use"`, `"assistant"`, `3,`, `"mine"`, `{"n":1}`, `https:`, `"x"`} {
		for _, with := range []string{`"` + canary + `"`, `["` + canary + `"]`, `{"` + canary + `":1}`, `7`} {
			if wrong == "3," {
				with += ","
			}
			broken := strings.Replace(params, wrong, with, 1)
			if strictjson.Check([]byte(broken)) != nil {
				continue
			}
			if _, err := d.Call(t, MethodPermissions, broken); err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s for %s: %v", with, wrong, err)
			}
		}
	}
}
