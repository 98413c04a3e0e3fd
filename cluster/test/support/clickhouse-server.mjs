// A ClickHouse server for tests. The library chdb executes the statements. This program adds the parts of the HTTP interface
// that an insert needs: queries and settings in the address, data in the body, Basic authentication, and errors with the status
// and the code of the real server. Usage:
//   node clickhouse-server.mjs <chdb> <folder> <port> <password>
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const [path, folder, port, password] = process.argv.slice(2)
const { Session } = (await import(pathToFileURL(path).href)).default
const session = new Session(folder)
const version = session.query('SELECT version()', 'TSVRaw').trim()

// Error codes whose HTTP status is not 500, as in the server's exceptionCodeToHTTPStatus.
const STATUSES = new Map([
  ...[6, 25, 26, 27, 38, 41, 43, 44, 50, 53, 62, 70, 72].map((code) => [code, 400]),
  ...[16, 36, 46, 47, 60, 81].map((code) => [code, 404]),
  [516, 403],
])

function run(query, body, settings) {
  const assignments = settings.map(([name, value]) => `${name} = '${value.replace(/['\\]/g, '\\$&')}'`)
  const format = query.lastIndexOf(' FORMAT ')
  const [head, tail] = format < 0 ? [query, ''] : [query.slice(0, format), query.slice(format)]
  const clause = assignments.length > 0 && /^insert/i.test(query) ? ` SETTINGS ${assignments.join(', ')}` : ''
  return session.query(`${head}${clause}${tail}\n${body}`, 'TSVRaw')
}

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const address = new URL(request.url, 'http://localhost')
  // Parameters of the HTTP interface that are not settings.
  const {
    query = '',
    query_id: _id,
    database: _database,
    wait_end_of_query: _wait,
    ...settings
  } = Object.fromEntries(address.searchParams)
  const [user, given] = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64')
    .toString()
    .split(':')
  try {
    if (given !== password) {
      throw new Error(
        `Code: 516. DB::Exception: ${user}: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)`,
      )
    }
    const [statement, data] = query === '' ? [body, ''] : [query, body]
    response.end(run(statement, data, Object.entries(settings)))
  } catch (cause) {
    const message = cause.message.replace(/^Query failed: /, '')
    const code = Number(/Code: (\d+)/.exec(message)?.[1] ?? 1002)
    response.writeHead(STATUSES.get(code) ?? 500, { 'x-clickhouse-exception-code': code })
    response.end(`${message} (version ${version} (official build))\n`)
  }
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
