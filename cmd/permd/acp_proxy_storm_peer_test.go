package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fate is what may happen to a stormNumber line.
type fate int

const (
	arrives     fate = iota // arrives as it is
	isYes                   // arrives, with another option maybe, or permd answers in its place
	isYesAtMost             // the same, or does not arrive
	isAsk                   // arrives, changed maybe, or is answered by permd
	mayArrive               // arrives unchanged, or not at all
	isRefused               // is refused
)

// stormLine is one line that a peer sent.
type stormLine struct {
	n      int
	text   string
	fate   fate
	unsure bool // this peer or the other ended in the middle of it
}

// stormPeer is an agent or a client that sends random lines, and dies at any
// moment.
type stormPeer struct {
	agent bool
	rng   *rand.Rand // of its output
	ear   *rand.Rand
	// It writes to out and reads from in. Nothing else uses them.
	out io.WriteCloser
	in  io.ReadCloser

	lines   int  // how many it says about itself
	settled bool // it does all to the end, else it ends when it wants
	dieAt   int  // ends with this byte; -1 for not at all
	deafAt  int  // hears so many lines and no more; -1 for all

	mu       sync.Mutex
	changed  sync.Cond
	sent     []stormLine    // all that was said, whole
	received []string       // all that was received, whole
	replies  []string       // to be said: answers to what was received
	open     map[string]int // its requests, by id: how many answers came
	done     bool           // the other one has sent everything that it wants
	finished bool           // so has this one
	eof      bool           // nothing more comes
	err      error          // a failure of the test
}

func newStormPeer(agent bool, rng *rand.Rand, out io.WriteCloser, in io.ReadCloser) *stormPeer {
	p := &stormPeer{agent: agent, rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), ear: rand.New(rand.NewPCG(rng.Uint64(), 2)), out: out, in: in, dieAt: -1, deafAt: -1, open: map[string]int{}}
	p.changed.L = &p.mu
	return p
}

// speak sends everything, and then ends.
func (p *stormPeer) speak() {
	defer p.out.Close()
	written := 0
	write := func(l stormLine, id string) bool {
		text := l.text + "\n"
		l.unsure = p.dieAt >= 0 && written+len(text) > p.dieAt
		// Noted before it is written: the other may answer at once.
		p.mu.Lock()
		if id != "" {
			p.open[id] = 0
		}
		p.sent = append(p.sent, l)
		p.mu.Unlock()
		if l.unsure {
			_, _ = io.WriteString(p.out, text[:p.dieAt-written])
			return false
		}
		for rest := text; rest != ""; {
			n := len(rest)
			if p.rng.IntN(4) == 0 {
				n = 1 + p.rng.IntN(n)
			}
			if _, err := io.WriteString(p.out, rest[:n]); err != nil {
				p.mu.Lock()
				p.sent[len(p.sent)-1].unsure = true
				p.mu.Unlock()
				return false
			}
			rest = rest[n:]
			if p.rng.IntN(40) == 0 {
				time.Sleep(time.Duration(p.rng.IntN(2000)) * time.Microsecond)
			}
		}
		written += len(text)
		return true
	}
	for n := 1; ; n++ {
		reply, what := p.next()
		ok := false
		switch what {
		case replies:
			ok = write(stormLine{n: n, text: strings.Replace(reply, "%n", strconv.Itoa(n), 1), fate: said(reply)}, "")
		case thinks:
			l, id := p.think(n)
			ok = write(l, id)
		case finishes:
			ok = write(stormLine{n: n, text: fmt.Sprintf(`{"jsonrpc":"2.0","method":"_done","params":{"_n":%d}}`, n), fate: arrives}, "")
		}
		if !ok {
			return
		}
	}
}

// act is what a peer does next.
type act int

const (
	ends act = iota
	replies
	thinks
	finishes
)

// next waits until there is something to send: a reply, or a random line. A settled
// peer reports when it has sent everything and all its requests are answered, and waits
// for the other peer; others end at once.
func (p *stormPeer) next() (reply string, what act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.err != nil:
			return "", ends
		case len(p.replies) > 0 && (p.lines == 0 || p.rng.IntN(2) == 0):
			reply, p.replies = p.replies[0], p.replies[1:]
			return reply, replies
		case p.lines > 0:
			p.lines--
			return "", thinks
		case !p.settled || p.eof:
			return "", ends
		case !p.finished && p.answered():
			p.finished = true
			return "", finishes
		case p.finished && p.agent && p.done:
			return "", ends
		}
		p.changed.Wait()
	}
}

// said records that a reply was sent: permd may refuse an approval.
func said(reply string) fate {
	switch {
	case strings.Contains(reply, ownRequest):
		return mayArrive
	case strings.Contains(reply, `"selected"`):
		return isYes
	}
	return arrives
}

func (p *stormPeer) answered() bool {
	for _, n := range p.open {
		if n == 0 {
			return false
		}
	}
	return true
}

// ownRequest is part of the ids of the proxy's own requests, with which it asks about a
// gate while the daemon does not answer.
const ownRequest = `"id":"permd-`

var (
	stormNumber = regexp.MustCompile(`"_n":(\d+)`)
	optionID    = regexp.MustCompile(`"optionId":"([^"]*)"`)
)

// listen reads everything, and answers part of it.
func (p *stormPeer) listen() {
	defer p.in.Close()
	r := bufio.NewReaderSize(p.in, 1+p.ear.IntN(100_000))
	defer func() {
		p.mu.Lock()
		p.eof = true
		p.changed.Broadcast()
		p.mu.Unlock()
	}()
	for n := 0; n != p.deafAt; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return // an incomplete line at the end does not count
		}
		p.hear(strings.TrimSuffix(line, "\n"))
		if p.ear.IntN(60) == 0 {
			time.Sleep(time.Duration(p.ear.IntN(3000)) * time.Microsecond)
		}
	}
}

func (p *stormPeer) hear(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.Broadcast()
	p.received = append(p.received, line)
	m := parsePair(line)
	id := string(m.ID)
	switch {
	case m.Method == "_done":
		p.done = true
	case strings.HasPrefix(id, `"permd-`):
		// The question follows an approval, in whatever place: it gets a reject
		// here.
		p.replies = append(p.replies, `{"jsonrpc":"2.0","id":`+id+`,"result":{"outcome":{"outcome":"cancelled"}},"_x":{"_n":%n}}`)
	case m.Method == "session/request_permission" && m.ID != nil:
		reply := `"result":{"outcome":{"outcome":"cancelled"}}`
		if options := optionID.FindAllStringSubmatch(line, -1); len(options) > 0 && p.ear.IntN(5) > 0 {
			reply = `"result":{"outcome":{"outcome":"selected","optionId":"` + options[p.ear.IntN(len(options))][1] + `"}}`
		}
		p.replies = append(p.replies, `{"jsonrpc":"2.0","id":`+id+`,`+reply+`,"_x":{"_n":%n}}`)
	case m.Method != "" && m.ID != nil:
		p.replies = append(p.replies, `{"jsonrpc":"2.0","id":`+id+`,"result":{"_n":%n}}`)
	case m.Method == "" && m.ID != nil:
		if _, mine := p.open[id]; mine {
			if p.open[id]++; p.open[id] > 1 {
				p.err = fmt.Errorf("a second answer: %.300s", line)
			}
		}
	}
}

// think makes a random line, and returns the id of the request if it is one.
func (p *stormPeer) think(n int) (stormLine, string) {
	num := `"_n":` + strconv.Itoa(n)
	pad := strings.Repeat([]string{"x", "é", `\n`, "\u2028"}[p.rng.IntN(4)], p.rng.IntN(600))
	if p.rng.IntN(50) == 0 {
		pad = strings.Repeat("y", p.rng.IntN(400_000))
	}
	id := fmt.Sprintf(`"%d"`, n)
	if p.rng.IntN(2) == 0 {
		id = strconv.Itoa(n)
	}
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `,"_meta":{` + num + `}}}`
	}
	notify := func(method, params string) string {
		return `{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `,"_meta":{` + num + `}}}`
	}
	line := func(text string, f fate) (stormLine, string) { return stormLine{n: n, text: text, fate: f}, "" }
	const session = `"sessionId":"s1"`
	kind := p.rng.IntN(14)
	switch {
	case kind == 0:
		return line(`not a message `+num+" "+pad, arrives)
	case kind == 1:
		return line(` [`+notify("_batch", session)+`]`, isRefused)
	case kind == 2 && p.agent:
		return line(`{"method":"_twice","method":"_twice","params":{`+num+`}}`, isRefused)
	case kind == 2:
		return line(`{"broken":`+num+`,,`, arrives)
	case kind == 3:
		return line("\xff\xfe\x00 "+num+pad, arrives)
	case kind == 4:
		return line(notify("$/cancel_request", `"requestId":`+strconv.Itoa(max(1, n-p.rng.IntN(4)))), mayArrive)
	case kind == 5:
		return stormLine{n: n, text: request("_vendor/ask", `"pad":"`+pad+`"`), fate: arrives}, id
	case kind < 8 && p.agent:
		command := []string{"git status", "rm -rf ~", "git push", "make install"}[p.rng.IntN(4)]
		call := `"toolCall":{"toolCallId":"c` + strconv.Itoa(n) + `","kind":"execute","title":"` + command + `","rawInput":{"command":"` + command + `"},"_meta":{"claudeCode":{"toolName":"Bash"}}}`
		const options = `"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]`
		return stormLine{n: n, text: request("session/request_permission", session+`,`+call+`,`+options), fate: isAsk}, id
	case kind == 8 && p.agent:
		return stormLine{n: n, text: request("fs/write_text_file", session+`,"path":"/etc/x","content":"`+pad+`"`), fate: isAsk}, id
	case kind == 9 && p.agent:
		return stormLine{n: n, text: request("terminal/create", session+`,"command":"ls","args":["-l"]`), fate: isAsk}, id
	case kind < 12 && p.agent:
		return line(notify("session/update", session+`,"update":{"sessionUpdate":"tool_call","toolCallId":"c`+strconv.Itoa(n)+`","title":"t","rawInput":{"command":"ls"},"content":[{"type":"content","content":{"type":"text","text":"`+pad+`"}}]}`), arrives)
	case kind == 6:
		return stormLine{n: n, text: request("session/set_mode", session+`,"modeId":"m"`), fate: isAsk}, id
	case kind == 7:
		return line(notify("session/cancel", session), arrives)
	case kind == 8:
		return line(`{"jsonrpc":"2.0","id":"nobody's","result":{`+num+`}}`, arrives)
	}
	return line(notify("_n", `"pad":"`+pad+`"`), arrives)
}
