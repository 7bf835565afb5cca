// A client for @ai-sdk/policy-opa that asks permd on its Unix socket, which needs
// no token. What is no answer of permd's is an error, for which the package denies.
//
//   opaPolicy({ client: permdClient(), path: 'permd/decision' })
import { request } from 'node:http';

const most = 1 << 20; // bytes of an answer

export function permdClient(socketPath = `${process.env.XDG_RUNTIME_DIR}/permd-http/http.sock`) {
  return { evaluate: (path, input) => ask(socketPath, `/v1/data/${path}`, JSON.stringify({ input })) };
}

function ask(socketPath, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { host: 'permd', 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const req = request({ socketPath, path, method: 'POST', headers, signal: AbortSignal.timeout(30_000) }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (part) => {
        text += part;
        if (text.length > most) res.destroy(new Error('permd: the answer is too long'));
      });
      res.on('error', reject);
      res.on('end', () => {
        if (res.statusCode !== 200) return reject(new Error(`permd: status ${res.statusCode}`));
        try {
          const { result } = JSON.parse(text);
          // Without a result the package would run the tool.
          if (typeof result?.decision !== 'string') throw new Error('permd: no decision');
          resolve(result);
        } catch (error) {
          reject(error);
        }
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}
