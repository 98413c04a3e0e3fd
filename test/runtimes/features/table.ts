import { expect } from 'vitest'

/** The content of docs/platforms.md, as data. features.test.ts tests each feature on each platform, and writes the document. */

/** The result of a feature on platforms that support it. */
interface Proof {
  readonly saw: unknown
  readonly received: readonly string[]
}

const summary = (delivered: number) => ({ delivered, failed: 0, pending: 0 })
const times = (count: number, line: string): string[] => Array.from({ length: count }, () => line)

export const FEATURES = {
  callback: { saw: 'callback', received: ['callback of usr_Zoë'] },
  promise: { saw: 'promise', received: ['promise of usr_Zoë'] },
  flush: { saw: summary(3), received: times(3, 'flush of usr_Zoë') },
  closeAndFlush: { saw: { ...summary(1), late: 'closed' }, received: ['closeAndFlush of usr_Zoë'] },
  waitUntil: { saw: 1, received: times(2, 'waitUntil of usr_Zoë') },
  OAuth: { saw: summary(1), received: ['OAuth of usr_Zoë, with a token'] },
  gzip: { saw: summary(20), received: times(20, 'gzip of usr_Zoë, gzip') },
  spool: { saw: { stored: true, deferred: 1, recovered: 1 }, received: ['spool of usr_Zoë'] },
  scope: { saw: summary(2), received: ['scope of usr_ada', 'scope of usr_grace'] },
  plugins: { saw: ['first', 'second', 'last'], received: ['plugins of usr_Zoë, first, second'] },
  channels: { saw: ['track'], received: ['channels of usr_Zoë'] },
  closeOn: { saw: 'listening', received: ['closeOn of usr_Zoë'] },
} satisfies Record<string, Proof>

export type Feature = keyof typeof FEATURES

/** How a feature differs on one platform. */
export interface Exception {
  /** The feature works, with this result. */
  readonly saw?: unknown
  /** The feature does not work: a part of the message to the user. */
  readonly refused?: string
  /** The feature does not apply. */
  readonly isAbsent?: true
  /** The events that the service receives. Default: no event if the feature is refused or does not apply. */
  readonly received?: readonly string[]
  /** The explanation for the user. */
  readonly note: string
}

export interface Platform {
  readonly id: string
  /** The name of the platform in the document. */
  readonly title: string
  /** How the tests of this platform are run, for the document. */
  readonly where: string
  readonly except: Partial<Record<Feature, Exception>>
}

const ENDED: Exception = {
  isAbsent: true,
  note: 'The process ends when its listeners of `exit` have returned, and nothing is sent any more. With a spool the event is kept.',
}
const NO_CHANNELS: Exception = {
  isAbsent: true,
  note: 'The runtime has no `node:diagnostics_channel`. Local events and `logger` report the same.',
}

export const PLATFORMS: readonly Platform[] = [
  { id: 'node-16', title: 'Node.js 16', where: 'one process, which SIGTERM ends', except: {} },
  { id: 'node-26', title: 'Node.js 26', where: 'the same', except: {} },
  {
    id: 'thread',
    title: 'worker thread',
    where: 'a `Worker` of `node:worker_threads`, on Node.js 26',
    except: {
      closeOn: {
        refused: 'closeOn: no signal reaches a worker thread',
        note: 'The main thread gets the signals. Let it post a message, on which the thread calls `closeAndFlush()`.',
      },
    },
  },
  { id: 'cluster', title: 'cluster worker', where: 'a worker of `node:cluster`, on Node.js 26', except: {} },
  {
    id: 'permission',
    title: 'permission model',
    where:
      'Node.js 26 with `--permission --allow-net`, read access to everything, and write access to the directory of the spool',
    except: {
      spool: {
        saw: { ...FEATURES.spool.saw, stored: false, denied: expect.stringContaining('denies fsync') },
        note: 'Node.js denies `fsync`: no event is lost when the process dies, but a power cut may destroy the last seconds. See [the spool](./spool.md#files).',
      },
    },
  },
  {
    id: 'beforeExit',
    title: '`beforeExit` listener',
    where: "everything runs in `process.once('beforeExit', ...)`, on Node.js 26",
    except: {},
  },
  {
    id: 'exit',
    title: '`exit` listener',
    where:
      "everything runs in `process.on('exit', ...)`, on Node.js 26; the next process sends the events in the spool",
    except: {
      ...Object.fromEntries(Object.keys(FEATURES).map((name) => [name, ENDED])),
      spool: {
        saw: undefined,
        note: 'The event is written at once, and sent by the next process with this directory.',
      },
    },
  },
  { id: 'bun', title: 'Bun', where: 'one process, which SIGTERM ends, on Bun 1', except: {} },
  {
    id: 'deno',
    title: 'Deno',
    where: 'Deno 2 with `--allow-net --allow-env`, and read and write access to the directory of the spool',
    except: {},
  },
  {
    id: 'workerd',
    title: 'Cloudflare Workers',
    where: 'workerd, one request, bundled as by the tools of Cloudflare',
    except: {
      spool: {
        refused: 'Could not resolve "node:fs"',
        note: 'Workers have no disk. Use the setting `waitUntil`, or await `flush()`.',
      },
      scope: {
        refused: 'Could not resolve "node:async_hooks"',
        note: 'It needs the flag `nodejs_compat`. [`analytics.with()`](./scopes.md) works without it.',
      },
      channels: NO_CHANNELS,
      closeOn: {
        refused: 'Could not resolve "node:os"',
        note: 'A Worker gets no signals. Use the setting `waitUntil`, or await `flush()`.',
      },
    },
  },
  {
    id: 'nodejs_compat',
    title: 'Workers, `nodejs_compat`',
    where: 'the same with the flag `nodejs_compat`',
    except: {
      spool: {
        refused: 'spool: Cloudflare Workers have no disk',
        note: 'Workers have no disk. Use the setting `waitUntil`, or await `flush()`.',
      },
      closeOn: {
        refused: 'closeOn: no signal reaches a Cloudflare Worker',
        note: 'A Worker gets no signals. Use the setting `waitUntil`, or await `flush()`.',
      },
    },
  },
  {
    id: 'lambda',
    title: 'AWS Lambda',
    where:
      'a runtime on Node.js 24 that asks a local runtime interface for invocations, is stopped by SIGSTOP after each, and gets SIGTERM at the end',
    except: {
      spool: {
        note: '`/tmp` belongs to the environment: its files survive an invocation, but not a deployment. Await `flush()`.',
      },
      closeOn: { note: 'Lambda sends SIGTERM to functions that have an extension, and to no others.' },
    },
  },
  {
    id: 'next',
    title: 'Next.js, edge',
    where: 'one call of an edge function in the sandbox of Next.js 16, on Node.js 24',
    except: {
      gzip: {
        refused: 'request bodies are sent uncompressed from now on',
        received: FEATURES.gzip.received.map((line) => line.replace(', gzip', '')),
        note: 'It has no `CompressionStream`. The events are delivered uncompressed.',
      },
      spool: {
        refused: 'Could not resolve "node:fs"',
        note: 'Edge functions have no disk. Use the setting `waitUntil`, or await `flush()`.',
      },
      channels: NO_CHANNELS,
      closeOn: {
        refused: 'Could not resolve "node:os"',
        note: 'An edge function gets no signals. Use the setting `waitUntil`, or await `flush()`.',
      },
    },
  },
]

export function writeDocument(): string {
  const names = Object.keys(FEATURES) as Feature[]
  const notes: string[] = []
  const numberOf = ({ refused, note }: Exception): number => {
    const text = refused === undefined ? note : `“${refused}”. ${note}`
    if (!notes.includes(text)) notes.push(text)
    return notes.indexOf(text) + 1
  }
  const cell = (exception: Exception | undefined): string => {
    if (exception === undefined) return 'yes'
    const { refused, isAbsent } = exception
    const word = refused !== undefined ? 'refused' : isAbsent ? '–' : 'yes'
    return `${word} [${numberOf(exception)}](#notes)`
  }
  const rows = PLATFORMS.map(
    ({ title, except }) => `| ${[title, ...names.map((name) => cell(except[name]))].join(' | ')} |`,
  )
  const titles = names.map((name) => COLUMNS[name] ?? name)
  return `# Platforms

<!-- Written by test/runtimes/features.test.ts: \`WRITE_TABLE=1 npx vitest run --project runtimes test/runtimes/features.test.ts\` -->

Each cell is a test that runs the packed package, against a service on loopback, as the [last table](#how-each-row-is-run) says. **yes**:
events are delivered and reported as in the guides. **refused**: an error or a warning says so, at the call, when the client is made, or when it is bundled.
**–**: does not apply.

| | ${titles.join(' | ')} |
|---|${names.map(() => '---|').join('')}
${rows.join('\n')}

## Notes

${notes.map((text, index) => `${index + 1}. ${text}`).join('\n')}

## How each row is run

| row | |
|---|---|
${PLATFORMS.map(({ title, where }) => `| ${title} | ${where} |`).join('\n')}

[features.mjs](../test/runtimes/features/features.mjs) has the code of each cell. Tests of other versions of Node.js, with retries and rate limits:
\`npm run test:runtimes\`. Functions in production: [serverless](./serverless.md).
`
}

const COLUMNS: Partial<Record<Feature, string>> = {
  promise: '`promises`',
  flush: '`flush`',
  closeAndFlush: '`closeAndFlush`',
  waitUntil: '`waitUntil`',
  spool: '[spool](./spool.md)',
  scope: '[scope](./scopes.md)',
  plugins: '[plugins](./plugins.md)',
  channels: '[channels](./observability.md)',
  closeOn: '`closeOn`',
}
