// Answer opencode's questions by permd, with node's own modules alone.
//
// Reads the stream of events of a running `opencode serve`, asks permd about
// each call that opencode asks about, and answers what permd decides: an allow
// with "once", a deny with "reject". What permd leaves to the person, and
// whatever goes wrong, stays a question in opencode's own window; when such a
// call has run, permd is told, so that it waits no longer.
//
//     node examples/clients/opencode/bridge.mjs [http://127.0.0.1:4096]
//
// Run it in the project's folder.
import { connect } from 'node:net'

const server = process.argv[2] ?? 'http://127.0.0.1:4096'

// Talks to permd on a connection of its own.
async function permd(talk) {
  const conn = connect(process.env.PERMD_SOCKET || process.env.XDG_RUNTIME_DIR + '/permd/permd.sock').setEncoding('utf8')
  conn.setTimeout(5000, () => conn.destroy(new Error('permd did not answer within 5 seconds')))
  const chunks = conn[Symbol.asyncIterator]() // throws when the connection fails
  async function call(id, method, params) {
    conn.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n')
    let line = ''
    while (!line.endsWith('\n')) {
      const { value, done } = await chunks.next()
      if (done) throw new Error('permd went away')
      line += value
    }
    const answer = JSON.parse(line)
    if (answer.id !== id || !('result' in answer)) throw new Error(answer.error?.message ?? 'not an answer')
    return answer.result
  }
  try {
    return await talk(call)
  } finally {
    conn.destroy()
  }
}

// Asks permd for a decision. An error is never an allow. Calls of opencode's second form have no id.
function decide(sessionId, name, input, callId = '1') {
  return permd(async (call) => {
    // The session outlives the connection; sub-agents have sessions of their own.
    const hello = await call(1, 'permd/session', { sessionId, cwd: process.cwd(), agent: { name: 'opencode' }, harness: 'opencode' })
    if ((hello.protocol ?? 1) !== 1) throw new Error('permd speaks another version of its protocol') // an older one names none
    const { decisions } = await call(2, 'permd/decide', { sessionId, calls: [{ callId, tool: { name }, input }] })
    if (decisions.length !== 1 || decisions[0].callId !== callId) throw new Error('not a decision of this call')
    return decisions[0]
  })
}

// The calls that were left to the person, by session and id: opencode names their tools otherwise when they have run.
const left = new Map()

// Tells permd that a call has run which was left to the person. A call that was refused ends with an error.
async function finished(event) {
  const part = event.type === 'message.part.updated' ? event.properties.part : undefined
  if (part?.type !== 'tool' || part.state?.status !== 'completed') return
  const key = JSON.stringify([part.sessionID, part.callID])
  const q = left.get(key)
  if (!left.delete(key)) return
  await permd((call) => call(1, 'permd/finished', { sessionId: q.session, harness: 'opencode', call: { callId: q.call, tool: q.tool, input: q.input ?? {} } }))
  console.log(q.id, q.tool, 'has run')
}

// The question in an event, of the first or the second form.
function question(event) {
  const p = event.properties
  switch (event.type) {
    case 'permission.asked':
      return { id: p.id, session: p.sessionID, call: p.tool?.callID, tool: p.permission, input: p.metadata, to: `/permission/${encodeURIComponent(p.id)}/reply` }
    case 'permission.v2.asked':
      return {
        id: p.id, session: p.sessionID, tool: p.action, input: p.metadata,
        to: `/api/session/${encodeURIComponent(p.sessionID)}/permission/${encodeURIComponent(p.id)}/reply`,
      }
  }
}

async function answer(q) {
  const { verdict, reason, message } = await decide(q.session, q.tool, q.input ?? {}, q.call || undefined)
  let body
  if (verdict === 'allow') body = { reply: 'once' } // never always: opencode would not ask again
  else if (verdict === 'deny') body = { reply: 'reject', message: 'permd denies: ' + (message || reason) }
  else {
    if (q.call) left.set(JSON.stringify([q.session, q.call]), q)
    if (left.size > 64) left.delete(left.keys().next().value)
    return console.log(q.id, q.tool, 'is for you:', reason)
  }
  const res = await fetch(server + q.to, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  if (!res.ok) throw new Error(`opencode answers ${res.status}`)
  console.log(q.id, q.tool, body.reply)
}

// Events are paragraphs, their data stands in lines that begin with data:
async function follow() {
  const res = await fetch(server + '/event', { headers: { accept: 'text/event-stream' } })
  if (!res.ok) throw new Error(`opencode answers ${res.status}`)
  let text = ''
  for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).replaceAll('\r\n', '\n').split('\n\n')
    text = parts.pop()
    for (const part of parts) {
      const data = part.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('\n')
      let q
      try {
        const event = JSON.parse(data)
        q = question(event)
        finished(event).catch((error) => console.log('permd does not know what has run:', error.message))
      } catch {
        continue // not an event that this knows
      }
      // A question that is not answered here stays open in opencode.
      if (q) answer(q).catch((error) => console.log(q.id, q.tool, 'is for you:', error.message))
    }
  }
}

await follow()
