package proxy

import (
	"bytes"
	"strconv"
)

// mayContainMessage reports whether any reader, however lenient, could find a message in
// a line that is not one. Readers skip comments, byte order marks and control
// characters, split a line at characters other than the newline or continue
// after it, look for the first brace, and read keys without quotes; the line
// may be in another encoding. In every case a message is an object with
// members, so it has a brace, and before the closing one a separator between a
// name and its value. Other lines with braces are text.
func mayContainMessage(line []byte) bool {
	for {
		i := bytes.IndexByte(line, '{')
		if i < 0 {
			return false
		}
		line = line[i+1:]
		if i = bytes.IndexAny(line, "{}:="); i < 0 || line[i] != '}' {
			return true
		}
	}
}

// mentionsProtocol reports whether a line that is not a message contains a name of the
// protocol, or hides its words. Such a line is an attempt at a message. Other lines are
// the agent's ordinary output with braces in it, and nothing was lost with them.
func mentionsProtocol(line []byte) bool {
	if bytes.IndexByte(line, 0) >= 0 || bytes.IndexByte(line, '\\') >= 0 {
		return true
	}
	line = bytes.ToLower(line)
	for _, word := range [][]byte{[]byte("jsonrpc"), []byte("method"), []byte("params"), []byte("session"), []byte("toolcall"), []byte("result")} {
		if bytes.Contains(line, word) {
			return true
		}
	}
	return false
}

// dropUnreadable drops a line of the agent that is not a message but in which
// some readers may find one. Agents print such lines by mistake, so the person
// is told about the first few and then less and less often.
func (c *core) dropUnreadable(line []byte) []action {
	if mentionsProtocol(line) {
		return c.onUnreadable(agentSide, errLoose)
	}
	c.dropped++
	switch n := c.dropped; {
	case n <= maxDroppedPrinted:
		c.print("what the agent printed was not passed on: " + errLoose.Error())
	case n&(n-1) == 0:
		c.print(strconv.Itoa(n) + " lines that the agent printed were not passed on: some readers may find messages in them")
	}
	return c.take()
}

// maxDroppedPrinted is how many dropped lines are reported one by one.
const maxDroppedPrinted = 3
