import { ConfigError } from 'trackpost-collector'
import { headersOf, help, readArguments, wholeNumber } from './arguments.ts'
import { startFront } from './front.ts'
import { version } from './version.ts'
import { startWork } from './work.ts'

const say = (line: string) => process.stderr.write(`${new Date().toISOString()} ${line}\n`)

/** Each kind of fault is said once in this time, with the number of those that were left out. */
const SAY_AGAIN_MS = 10_000

function faultLog(): (what: string, cause: unknown) => void {
  const said = new Map<string, { atMs: number; left: number }>()
  return (what, cause) => {
    const last = said.get(what)
    if (last !== undefined && performance.now() - last.atMs < SAY_AGAIN_MS) {
      last.left++
      return
    }
    const others = last === undefined || last.left === 0 ? '' : ` (and ${last.left} more before)`
    said.set(what, { atMs: performance.now(), left: 0 })
    const { message, code } = cause as NodeJS.ErrnoException
    say(`fault: ${what}: ${message || code || String(cause)}${others}`)
  }
}

/** Runs the command line. Resolves when the process has been asked to end, and has ended its work. */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  if (args.includes('--help') || args.length === 0) return void process.stdout.write(help())
  if (args.includes('--version')) return void process.stdout.write(`${version}\n`)
  try {
    await run(args, env)
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException
    if (!(cause instanceof ConfigError) && code === undefined) throw cause
    process.stderr.write(`trackpost-cluster: ${message}\n`)
    process.exitCode = 1
  }
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { command, values } = readArguments(args, env)
  const text = (name: string) => values[name] as string | undefined
  const address = text('log')
  if (address === undefined)
    throw new ConfigError('--log: expected the address of NATS, such as nats://127.0.0.1:4222')
  const common = {
    address,
    host: text('host') ?? '',
    credentials: text('credentials'),
    settings: {
      replicas: wholeNumber(values, 'replicas', 5),
      maxBytes: wholeNumber(values, 'max-bytes', Number.MAX_SAFE_INTEGER),
    },
    onFault: faultLog(),
  }
  const port = (usual: number) => (values['port'] === undefined ? usual : wholeNumber(values, 'port', 65_535))
  if (command === 'front') {
    const front = await startFront({
      ...common,
      config: text('config'),
      allowPublic: values['allow-public'] === true,
      port: port(8787),
    })
    say(`front listens on ${front.url}`)
    await signalled()
    await front.close()
    return
  }
  const to = text('to')
  if (to === undefined) throw new ConfigError('--to: expected the URL of the destination')
  const work = await startWork({
    ...common,
    to,
    name: text('name'),
    headers: headersOf(values['header']),
    fromDeadLetters: values['dead-letters'] === true,
    port: port(0),
  })
  say(`worker listens on http://${common.host}:${work.port}`)
  await Promise.race([signalled(), work.ended])
  await work.close()
}

/** A second signal ends the process at once. */
function signalled(): Promise<unknown> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
  })
}
