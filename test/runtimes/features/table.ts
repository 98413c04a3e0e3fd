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
  kinds: {
    saw: summary(6),
    received: [
      'Bestellung of usr_Zoë, price, emoji',
      'alias',
      'group',
      'identify',
      'page, category',
      'screen',
    ],
  },
  retry: { saw: { delivered: 1, hasWaited: true }, received: ['retry of usr_Zoë'] },
  fetchClient: { saw: summary(1), received: ['fetchClient of usr_Zoë'] },
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
  /** How the tests of this platform are run, for the document. A platform without it is not in the document. */
  readonly where?: string
  /** The runtime that the messages name. Default: `node`. */
  readonly jsRuntime?: string
  readonly except: Partial<Record<Feature, Exception>>
}

const ENDED: Exception = {
  isAbsent: true,
  note: 'When the `exit` listeners have returned, the process ends. So nothing can be sent any more. With a spool, the event is kept.',
}

export const PLATFORMS: readonly Platform[] = [
  {
    id: 'node-16',
    title: 'Node.js 16',
    where: 'one process, ended by SIGTERM',
    except: { fetchClient: { refused: 'no fetch', note: '' } },
  },
  ...['18', '20', '22', '24'].map((major) => ({
    id: `node-${major}`,
    title: `Node.js ${major}`,
    except: {},
  })),
  { id: 'node-26', title: 'Node.js 26', where: 'one process, ended by SIGTERM', except: {} },
  {
    id: 'thread',
    title: 'worker thread',
    where: 'a `Worker` of `node:worker_threads`, on Node.js 26',
    except: {
      closeOn: {
        refused: 'closeOn: no signal reaches a worker thread',
        note: 'Only the main thread gets signals. Let it post a message to the worker thread, which then calls `closeAndFlush()`.',
      },
    },
  },
  { id: 'cluster', title: 'cluster worker', where: 'a worker of `node:cluster`, on Node.js 26', except: {} },
  {
    id: 'permission',
    title: 'permission model',
    where:
      'Node.js 26 with `--permission --allow-net`, read access to all files, and write access to the directory of the spool',
    except: {
      spool: {
        saw: { ...FEATURES.spool.saw, denied: expect.stringContaining('denies fsync') },
        note: 'Node.js denies `fsync`. No event is lost when the process dies, but a power cut may destroy the events of the last seconds. See [the spool](./spool.md#files).',
      },
    },
  },
  {
    id: 'beforeExit',
    title: '`beforeExit` listener',
    where: "all features run in a listener of `process.once('beforeExit', ...)`, on Node.js 26",
    except: {},
  },
  {
    id: 'exit',
    title: '`exit` listener',
    where:
      "all features run in a listener of `process.on('exit', ...)`, on Node.js 26. A second process sends the event in the spool",
    except: {
      ...Object.fromEntries(Object.keys(FEATURES).map((name) => [name, ENDED])),
      spool: {
        saw: undefined,
        note: 'The spool writes the event to disk at once. The next process with the same directory sends it.',
      },
    },
  },
  { id: 'bun', jsRuntime: 'bun', title: 'Bun', where: 'one process on Bun 1, ended by SIGTERM', except: {} },
  {
    id: 'deno',
    jsRuntime: 'deno',
    title: 'Deno',
    where: 'Deno 2 with `--allow-net --allow-env`, and read and write access to the directory of the spool',
    except: {},
  },
  {
    id: 'workerd',
    jsRuntime: 'cloudflare-worker',
    title: 'Cloudflare Workers',
    where:
      "one request to a Worker in workerd (the runtime of Cloudflare), bundled in the same way as by Cloudflare's tools",
    except: {
      spool: {
        refused: 'Could not resolve "node:fs"',
        note: 'Workers have no disk. Use the setting `waitUntil`, or await `flush()`.',
      },
      scope: {
        refused: 'Could not resolve "node:async_hooks"',
        note: '`trackpost/scope` needs the flag `nodejs_compat`. [`analytics.with()`](./scopes.md) works without the flag.',
      },
      closeOn: {
        refused: 'Could not resolve "node:os"',
        note: 'A Worker gets no signals. Use the setting `waitUntil`, or await `flush()`.',
      },
    },
  },
  {
    id: 'nodejs_compat',
    jsRuntime: 'cloudflare-worker',
    title: 'Workers, `nodejs_compat`',
    where: 'like Cloudflare Workers, with the flag `nodejs_compat`',
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
      'a custom runtime on Node.js 24, which gets its invocations from a local copy of the runtime API of Lambda. SIGSTOP freezes the process after each invocation, and SIGTERM ends it',
    except: {
      spool: {
        note: '`/tmp` belongs to the execution environment. Its files survive an invocation, but not a deployment. So await `flush()`.',
      },
      closeOn: {
        note: 'Lambda sends SIGTERM only to functions that have an extension. In other functions, await `flush()`.',
      },
    },
  },
  {
    id: 'next',
    jsRuntime: 'vercel-edge',
    title: 'Next.js, edge',
    where: 'one call of an edge function in the sandbox of Next.js 16, on Node.js 24',
    except: {
      gzip: {
        refused: 'request bodies are sent uncompressed from now on',
        received: FEATURES.gzip.received.map((line) => line.replace(', gzip', '')),
        note: 'Edge functions have no `CompressionStream`. The events are delivered uncompressed.',
      },
      spool: {
        refused: 'Could not resolve "node:fs"',
        note: 'Edge functions have no disk. Use the setting `waitUntil`, or await `flush()`.',
      },
      closeOn: {
        refused: 'Could not resolve "node:os"',
        note: 'An edge function gets no signals. Use the setting `waitUntil`, or await `flush()`.',
      },
    },
  },
]

export function writeDocument(): string {
  const names = Object.keys(COLUMNS) as Feature[]
  const shown = PLATFORMS.filter(({ where }) => where !== undefined)
  const notes: string[] = []
  const numberOf = ({ refused, note }: Exception): number => {
    const text = refused === undefined ? note : `Message: “${refused}”. ${note}`
    if (!notes.includes(text)) notes.push(text)
    return notes.indexOf(text) + 1
  }
  const cell = (exception: Exception | undefined): string => {
    if (exception === undefined) return 'yes'
    const { refused, isAbsent } = exception
    const word = refused !== undefined ? 'refused' : isAbsent ? '–' : 'yes'
    return `${word} [${numberOf(exception)}](#notes)`
  }
  const rows = shown.map(
    ({ title, except }) => `| ${[title, ...names.map((name) => cell(except[name]))].join(' | ')} |`,
  )
  const titles = Object.values(COLUMNS)
  return `# Platforms

<!-- Written by test/runtimes/features.test.ts: \`WRITE_TABLE=1 npx vitest run --project runtimes test/runtimes/features.test.ts\` -->

This table shows which feature works on which platform. There is a test for each cell. The tests run the package as it is published,
and send events to a server on the same machine. [The last table](#how-each-row-is-run) says how they run each platform.

- **yes**: events are delivered and reported as in the guides.
- **refused**: the feature does not work. An error or a warning says so, at the call, in the constructor, or in the bundler.
- **–**: the feature does not apply to this platform.

| | ${titles.join(' | ')} |
|---|${names.map(() => '---|').join('')}
${rows.join('\n')}

## Notes

${notes.map((text, index) => `${index + 1}. ${text}`).join('\n')}

## How each row is run

| row | how it is run |
|---|---|
${shown.map(({ title, where }) => `| ${title} | ${where} |`).join('\n')}

[features.mjs](../test/runtimes/features/features.mjs) has the code for each feature. \`npm run test:runtimes\` also tests other
versions of Node.js, and retries and rate limits. [Serverless](./serverless.md) is about deployed functions.
`
}

/** The columns of the document. */
const COLUMNS: Partial<Record<Feature, string>> = {
  callback: '[callback](./five-minutes.md#the-outcome)',
  promise: '[`promises`](./five-minutes.md#the-outcome)',
  flush: '[`flush`](./delivery.md#what-flush-promises)',
  closeAndFlush: '[`closeAndFlush`](./delivery.md#what-closeandflush-promises)',
  waitUntil: '[`waitUntil`](./serverless.md)',
  OAuth: '[OAuth](./oauth.md)',
  gzip: '[gzip](./self-hosted.md#compression)',
  spool: '[spool](./spool.md)',
  scope: '[scope](./scopes.md)',
  plugins: '[plugins](./plugins.md)',
  closeOn: '[`closeOn`](./five-minutes.md#before-the-process-exits-make-sure-that-all-events-are-sent)',
}
