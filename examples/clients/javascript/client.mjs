// Ask permd about an agent's permission request, with node's own modules alone.
//
// Reads the params of a session/request_permission from standard input, as the
// agent sent them. Whatever goes wrong, the person is asked.
//
//     node examples/clients/javascript/client.mjs <request.json
//
// A real client keeps the connection, and passes on session/update as well.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

// Returns what to answer the agent. An error is never an allow.
async function decide(text) {
  const sessionId = JSON.parse(text).sessionId
  const conn = connect(process.env.PERMD_SOCKET || process.env.XDG_RUNTIME_DIR + '/permd/permd.sock').setEncoding('utf8')
  const chunks = conn[Symbol.asyncIterator]() // throws when the connection fails
  async function call(method, params) {
    conn.write(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}\n`)
    let line = ''
    while (!line.endsWith('\n')) {
      const { value, done } = await chunks.next()
      if (done) throw new Error('permd went away')
      line += value
    }
    const answer = JSON.parse(line)
    if (!('result' in answer)) throw new Error(answer.error.message) // -32050: permd leaves it to the person; any other: permd could not decide
    return answer.result
  }
  try {
    const hello = await call('permd/session', JSON.stringify({ sessionId, cwd: process.cwd(), agent: { name: 'claude-agent-acp', version: '0.100.0' } }))
    if ((hello.protocol ?? 1) !== 1) throw new Error('this client reads version 1 of the protocol only') // an older permd names no version
    // The agent's own text: written anew, a name that it has twice would be
    // there once, and permd would see another call than the agent makes.
    return await call('session/request_permission', text.replace(/[\r\n]/g, ' '))
  } finally {
    conn.destroy()
  }
}

try {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(0))
  console.log('answer the agent:', JSON.stringify(await decide(text)))
} catch (error) {
  console.log('undecided:', error.message) // here the client shows its own dialog
}
