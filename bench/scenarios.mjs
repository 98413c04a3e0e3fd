/**
 * A scenario's `run` is passed to `child.mjs`. Each entry in `rows` is one row of the scenario's table: an adapter (a client),
 * with changes to `run` if there are any. Slow rows are run in fewer rounds (`slowRounds`). Every round runs its rows one after
 * the other, so that a ratio compares runs that were made at about the same time.
 *
 * A target compares one metric of the rows `of` and `over`. In each round in which both rows were run, the value of `of` is
 * divided by the value of `over`. With `difference`, the value of `over` is subtracted instead. The median counts.
 */

/**
 * The targets of the SDK, as ratios. A run reports for each whether it is met, and fails if one is missed. The SDK is compared
 * with `floor`, a minimal client over `node:http`. In a process that uses `fetch`, the SDK sends over the undici dispatcher of
 * `fetch`. For the memory and the start of such a process, `overWithFetch` names `floor-dispatcher` instead, so that the
 * dispatcher's memory and loading time do not count against the SDK.
 */
const LIMITS = {
  burst: 0.85,
  burstRss: 1.2,
  paced: 1.0,
  overSegment: 0.25,
  default: 1.25,
  plugins: 1.2,
  confirm: 1.15,
  linear: 1.1,
  cold: 1.1,
  first: 1.15,
}

/** Run in fewer rounds, because no target depends on these clients. */
const slow = ['rudderstack', 'posthog', 'amplitude', 'customerio']

const rows = (...adapters) =>
  adapters.map((adapter) => ({ adapter, label: adapter, isSlow: slow.includes(adapter) }))

/** Gives the row of rudderstack a smaller run, because this client is too slow for the usual one. */
const shortened = (run, note) => (row) => (row.adapter === 'rudderstack' ? { ...row, run, note } : row)

const flushAt = 100

/**
 * The number of events in the warm-up. It is divisible by both batch sizes (15 and 100), because some clients keep an
 * incomplete last batch until a timer fires.
 */
const warmUp = 4500

const burst = { shape: 'burst', events: 20_000, warmUp, flushAt }
const paced = { shape: 'paced', events: 20_000, perSecond: 2_000, warmUp, flushAt }

const measured = [
  {
    name: 'burst',
    about: '20,000 calls, a turn of the event loop after each 100; `flushAt` 100, no compression.',
    kind: 'cpu',
    run: burst,
    rounds: 5,
    slowRounds: 2,
    rows: rows(
      'none',
      'floor',
      'floor-fixed',
      'floor-fetch',
      'floor-dispatcher',
      'trackpost',
      'trackpost-fetch',
      'segment',
      ...slow,
    ),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        limit: LIMITS.burst,
        text: 'CPU per event over the floor',
      },
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'segment',
        limit: LIMITS.overSegment,
        text: 'CPU per event over segment',
      },
      {
        metric: 'rssGrowthBytes',
        of: 'trackpost',
        over: 'floor',
        overWithFetch: 'floor-dispatcher',
        limit: LIMITS.burstRss,
        text: 'RSS growth over the floor',
      },
    ],
  },
  {
    name: 'first',
    about: 'burst without a warm-up: the first 20,000 events of a process, compilation included.',
    kind: 'cpu',
    run: { ...burst, warmUp: 0 },
    rounds: 5,
    slowRounds: 1,
    rows: rows('none', 'floor', 'floor-dispatcher', 'trackpost', 'trackpost-fetch', 'segment'),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        overWithFetch: 'floor-dispatcher',
        limit: LIMITS.first,
        text: 'CPU per event over the floor',
      },
    ],
  },
  {
    name: 'paced',
    about: '2,000 calls a second for 10 s, in ticks of 10 ms; `flushAt` 100, no compression.',
    kind: 'cpu',
    run: paced,
    rounds: 3,
    slowRounds: 1,
    rows: rows(
      'none',
      'floor',
      'floor-fetch',
      'floor-dispatcher',
      'trackpost',
      'trackpost-fetch',
      'segment',
      ...slow,
    ).map(shortened({ events: 6_000 }, 'measured for 3 s')),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        limit: LIMITS.paced,
        text: 'CPU per event over the floor',
      },
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'segment',
        limit: LIMITS.overSegment,
        text: 'CPU per event over segment',
      },
    ],
  },
  {
    name: 'default',
    about: 'burst with default settings (key and address only) and `flushAt` 15 for all.',
    kind: 'cpu',
    notes: 'defaultsNote',
    run: { ...burst, flushAt: 15, isDefault: true },
    rounds: 5,
    slowRounds: 1,
    rows: rows(
      'none',
      'floor',
      'floor-fixed',
      'floor-fetch',
      'floor-dispatcher',
      'trackpost',
      'trackpost-fetch',
      'segment',
      ...slow,
    ),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        limit: LIMITS.default,
        text: 'CPU per event over the floor',
      },
    ],
  },
  {
    name: 'default-paced',
    about: 'paced, for 3 s, with default settings (key and address only) and `flushAt` 15 for all.',
    kind: 'cpu',
    notes: 'defaultsNote',
    run: { ...paced, events: 6_000, flushAt: 15, isDefault: true },
    rounds: 3,
    slowRounds: 1,
    rows: rows('none', 'floor', 'floor-fetch', 'floor-dispatcher', 'trackpost', 'trackpost-fetch', 'segment'),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        limit: LIMITS.default,
        text: 'CPU per event over the floor',
      },
    ],
  },
  {
    name: 'call',
    about: 'the duration of the call itself: 20,000 calls, as in burst.',
    kind: 'call',
    run: { ...burst, shape: 'call' },
    rounds: 3,
    slowRounds: 1,
    rows: rows('none', 'floor', 'trackpost', 'segment', ...slow),
    targets: [],
  },
  {
    name: 'confirm',
    about:
      '`flushAt` 1: one event after the other; the next call is made after the callback of the last one.',
    kind: 'confirm',
    notes: 'confirmNote',
    run: { shape: 'confirm', events: 400, budgetMs: 2_000, warmUp: 100, flushAt: 1 },
    rounds: 5,
    slowRounds: 1,
    rows: [
      ...rows('floor', 'floor-fetch', 'floor-dispatcher', 'trackpost', 'trackpost-fetch'),
      // This client needs 300 ms for each event, so it is run in fewer rounds.
      { adapter: 'segment', label: 'segment', isSlow: true },
      ...rows(...slow),
    ],
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost',
        over: 'floor',
        limit: LIMITS.confirm,
        text: 'CPU per event over the floor',
      },
    ],
  },
  {
    name: 'plugins',
    about: 'burst with five synchronous plugins, each making one change to the event.',
    kind: 'cpu',
    run: burst,
    rounds: 5,
    slowRounds: 2,
    rows: ['trackpost', 'segment', 'customerio'].flatMap((adapter) => [
      { adapter, label: adapter, isSlow: adapter !== 'trackpost' },
      { adapter, label: `${adapter} + 5`, isSlow: adapter !== 'trackpost', run: { plugins: true } },
    ]),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost + 5',
        over: 'trackpost',
        limit: LIMITS.plugins,
        text: 'CPU with five plugins',
      },
    ],
  },
  ...[
    ['spool', burst, 1.4, 'burst'],
    ['spool-paced', { ...paced, events: 6_000 }, 1.3, 'paced, for 3 s,'],
  ].map(([name, run, limit, shape]) => ({
    name,
    about: `${shape} with a \`FileSpool\` in each mode of \`sync\`, and without a spool.`,
    kind: 'cpu',
    run,
    rounds: 5,
    slowRounds: 2,
    rows: [
      ...rows('trackpost'),
      ...['never', 'interval', 'always'].map((sync) => ({
        adapter: 'trackpost',
        label: `spool, ${sync}`,
        run: { feature: `spool ${sync}` },
      })),
    ],
    targets: [
      {
        metric: 'cpuMicros',
        of: 'spool, interval',
        over: 'trackpost',
        limit,
        text: "CPU per event with a spool, sync 'interval'",
      },
      { metric: 'cpuMicros', of: 'spool, always', over: 'trackpost', text: "the same, with sync 'always'" },
    ],
  })),
  {
    name: 'oauth',
    about: 'burst with OAuth and a local token server; the floor sends a fixed token.',
    kind: 'cpu',
    run: { ...burst, oauth: true },
    rounds: 3,
    slowRounds: 1,
    rows: rows('floor', 'trackpost', 'segment'),
    targets: [],
  },
  {
    name: 'import',
    about: 'a cold `import()` of the package in a new process.',
    kind: 'import',
    rounds: 9,
    slowRounds: 5,
    rows: [{ adapter: 'none', label: 'empty module' }, ...rows('floor', 'trackpost', 'segment', ...slow)],
    targets: [
      {
        metric: 'millis',
        of: 'trackpost',
        over: 'empty module',
        difference: true,
        limit: 10,
        text: 'ms over an empty module',
      },
    ],
  },
  {
    name: 'cold',
    about: 'a new process that loads the client, tracks 3 events and flushes: CPU of the whole process.',
    kind: 'cold',
    run: { events: 3, flushAt },
    rounds: 15,
    slowRounds: 5,
    rows: rows(
      'floor',
      'floor-fetch',
      'floor-dispatcher',
      'trackpost',
      'trackpost-fetch',
      'segment',
      ...slow,
    ),
    targets: [
      {
        metric: 'cpuMillis',
        of: 'trackpost',
        over: 'floor',
        overWithFetch: 'floor-dispatcher',
        limit: LIMITS.cold,
        text: 'CPU of the process over the floor',
      },
    ],
  },
  {
    name: 'waiting',
    about: 'memory per 10,000 waiting events: the service reads the requests and never responds.',
    kind: 'waiting',
    run: { shape: 'waiting', events: 10_000, settleMs: 500, warmUp: 300, flushAt },
    rounds: 3,
    slowRounds: 1,
    rows: rows('floor', 'trackpost', 'segment', ...slow).map(
      // Each call of rudderstack goes through the whole queue: 10,000 calls would take minutes.
      shortened({ events: 1000 }, 'measured with 1,000'),
    ),
    targets: [],
  },
  {
    name: 'linear',
    about:
      '200,000 events queued at once, compared with 2,000 events a hundred times; a run ends when all events are delivered.',
    kind: 'cpu',
    run: { shape: 'queued', warmUp, flushAt, maxWaiting: 1_000_000 },
    rounds: 3,
    slowRounds: 1,
    rows: ['floor', 'trackpost'].flatMap((adapter) => [
      { adapter, label: `${adapter}, 2,000`, run: { events: 2_000, repeats: 100 } },
      { adapter, label: `${adapter}, 200,000`, run: { events: 200_000, repeats: 1 } },
    ]),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost, 200,000',
        over: 'trackpost, 2,000',
        limit: LIMITS.linear,
        text: 'CPU per event, 200,000 queued over 2,000',
      },
      {
        metric: 'cpuMicros',
        of: 'floor, 200,000',
        over: 'floor, 2,000',
        text: 'the same of the floor',
      },
    ],
  },
]

/** If a scenario has the row `trackpost-fetch`, the targets of the SDK also apply to this row. */
export const scenarios = measured.map((scenario) => ({
  ...scenario,
  targets: scenario.targets?.flatMap((target) => {
    const takesPart = scenario.rows?.some(({ label }) => label === 'trackpost-fetch')
    if (target.of !== 'trackpost' || target.limit === undefined || !takesPart) return [target]
    const { overWithFetch: over = target.over, text } = target
    return [target, { ...target, of: 'trackpost-fetch', over, text: `${text}, in a process that uses fetch` }]
  }),
}))
