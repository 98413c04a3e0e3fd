import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'

/** From 2026-08-04 on, `nodejs_compat` is the default. The date is earlier, so that tests can run without the flag. */
export const COMPATIBILITY_DATE = '2026-07-01'

/** The export conditions with which Cloudflare's bundler resolves packages. */
const CONDITIONS = ['workerd', 'worker', 'browser']

export interface Worker {
  readonly url: string
  /** The text that workerd has written to stdout and stderr. */
  log(): string
  stop(): void
}

/**
 * Bundles a worker into one module, like Cloudflare's tools. Fails if the worker imports a `node:` module that
 * `external` does not list.
 *
 * @param external Modules that the runtime provides. Default: `cloudflare:*`.
 */
export async function bundleWorker(
  entry: string,
  outfile: string,
  external: string[] = ['cloudflare:*'],
): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    conditions: CONDITIONS,
    external,
    logLevel: 'silent',
  })
}

/** Runs one bundled module in workerd, on a free port of 127.0.0.1. */
export async function startWorker(
  binary: string,
  folder: string,
  module: string,
  flags: readonly string[] = [],
  bindings: Readonly<Record<string, string>> = {},
  date = COMPATIBILITY_DATE,
): Promise<Worker> {
  const list = (items: string[]): string => `[${items.join(', ')}]`
  const named = Object.entries(bindings).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  )
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed ${JSON.stringify(module)})],
  compatibilityDate = "${date}",
  compatibilityFlags = ${list(flags.map((flag) => JSON.stringify(flag)))},
  bindings = ${list(named)},
  globalOutbound = "internet",
);
`
  const path = join(folder, `${module}.${flags.join('-') || 'plain'}.capnp`)
  await writeFile(path, config)
  // workerd writes its port to file descriptor 3.
  const child = spawn(binary, ['serve', '--control-fd=3', path], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let log = ''
  child.stdout?.on('data', (chunk) => {
    log += chunk
  })
  child.stderr?.on('data', (chunk) => {
    log += chunk
  })
  const port = await readPort(child, () => log)
  return { url: `http://127.0.0.1:${port}`, log: () => log, stop: () => child.kill() }
}

function readPort(child: ChildProcess, log: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = ''
    const control = child.stdio[3] as NodeJS.ReadableStream
    control.on('data', (chunk) => {
      text += chunk
      for (const line of text.split('\n')) {
        const found = /"event":"listen".*"port":(\d+)/.exec(line)
        if (found) resolve(Number(found[1]))
      }
    })
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`workerd ended with ${code}: ${log()}`)))
  })
}
