/**
 * A scenario's `run` is passed to `child.mjs`. Each entry in `rows` is one row of the scenario's table: an adapter (a client),
 * with changes to `run` if there are any. Slow rows are run in fewer rounds (`slowRounds`). Every round runs its rows one after
 * the other, so that a ratio compares runs that were made at about the same time.
 *
 * A target compares one metric of the rows `of` and `over`. In each round in which both rows were run, the value of `of` is
 * divided by the value of `over`. The median counts. A run reports for each target with a `limit` whether it is met, and fails
 * if one is missed.
 */

/** Run in fewer rounds, because no target depends on these clients. */
const slow = ['rudderstack', 'posthog']

const rows = (...adapters) =>
  adapters.map((adapter) => ({ adapter, label: adapter, isSlow: slow.includes(adapter) }))

/** Gives the row of rudderstack a smaller run, because this client is too slow for the usual one. */
const shortened = (run, note) => (row) => (row.adapter === 'rudderstack' ? { ...row, run, note } : row)

/** A target for the CPU time per event of the row `trackpost`. */
const cpu = (over, limit) => ({
  metric: 'cpuMicros',
  of: 'trackpost',
  over,
  limit,
  text: `CPU per event over ${over === 'floor' ? 'the floor' : over}`,
})

const flushAt = 100

/**
 * The number of events in the warm-up. It is divisible by both batch sizes (15 and 100), because some clients keep an
 * incomplete last batch until a timer fires.
 */
const warmUp = 4500

const burst = { shape: 'burst', events: 20_000, warmUp, flushAt }
const paced = { shape: 'paced', events: 20_000, perSecond: 2_000, warmUp, flushAt }

/** One row without and one row with each feature of `adapters/trackpost.mjs`; `limits` has the features with a target. */
const features = (name, about, run, labels, limits, over = 'trackpost') => ({
  name,
  about,
  kind: 'cpu',
  run,
  rounds: 5,
  slowRounds: 2,
  rows: [
    ...rows('trackpost'),
    ...Object.entries(labels).map(([feature, label]) => ({ adapter: 'trackpost', label, run: { feature } })),
  ],
  targets: Object.entries(limits).map(([feature, limit]) => ({
    metric: 'cpuMicros',
    of: labels[feature],
    over,
    limit,
    text: `CPU per event: ${labels[feature]}`,
  })),
})

const SPOOLS = { spool: 'with a spool' }

export const scenarios = [
  {
    name: 'burst',
    about: '20,000 calls, a turn of the event loop after each 100; `flushAt` 100, no compression.',
    kind: 'cpu',
    run: burst,
    rounds: 5,
    slowRounds: 2,
    rows: rows('none', 'floor', 'trackpost', 'segment', ...slow),
    targets: [
      cpu('floor', 0.85),
      cpu('segment', 0.25),
      {
        metric: 'rssGrowthBytes',
        of: 'trackpost',
        over: 'floor',
        limit: 1.2,
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
    rows: rows('none', 'floor', 'trackpost', 'segment'),
    targets: [cpu('floor', 1.15)],
  },
  {
    name: 'paced',
    about: '2,000 calls a second for 10 s, in ticks of 10 ms; `flushAt` 100, no compression.',
    kind: 'cpu',
    run: paced,
    rounds: 3,
    slowRounds: 1,
    rows: rows('none', 'floor', 'trackpost', 'segment', ...slow).map(
      shortened({ events: 6_000 }, 'measured for 3 s'),
    ),
    targets: [cpu('floor', 1), cpu('segment', 0.25)],
  },
  {
    name: 'default',
    about: 'burst with default settings (key and address only) and `flushAt` 15 for all.',
    kind: 'cpu',
    notes: 'defaultsNote',
    run: { ...burst, flushAt: 15, isDefault: true },
    rounds: 5,
    slowRounds: 1,
    rows: rows('none', 'floor', 'trackpost', 'segment', ...slow),
    targets: [cpu('floor', 1.25)],
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
      ...rows('floor', 'trackpost'),
      // This client needs 300 ms for each event, so it is run in fewer rounds.
      { adapter: 'segment', label: 'segment', isSlow: true },
      ...rows(...slow),
    ],
    targets: [cpu('floor', 1.15)],
  },
  {
    name: 'plugins',
    about: 'burst with five synchronous plugins, each making one change to the event.',
    kind: 'cpu',
    run: burst,
    rounds: 5,
    slowRounds: 2,
    rows: ['trackpost', 'segment'].flatMap((adapter) => [
      { adapter, label: adapter, isSlow: adapter !== 'trackpost' },
      { adapter, label: `${adapter} + 5`, isSlow: adapter !== 'trackpost', run: { plugins: true } },
    ]),
    targets: [
      {
        metric: 'cpuMicros',
        of: 'trackpost + 5',
        over: 'trackpost',
        limit: 1.2,
        text: 'CPU with five plugins',
      },
    ],
  },
  features('spool', 'burst with a `FileSpool`, and without one.', burst, SPOOLS, { spool: 1.4 }),
  features(
    'spool-paced',
    'paced, for 3 s, with a `FileSpool`, and without one.',
    { ...paced, events: 6_000 },
    SPOOLS,
    { spool: 1.3 },
  ),
  features(
    'features',
    'burst with and without compression.',
    burst,
    { gzip: "compress: 'gzip'" },
    { gzip: undefined },
  ),
  features(
    'scopes',
    'burst in which the context of a request is passed to each call, to `with()` or to `trackpost/scope`, for five calls each.',
    burst,
    { context: 'context', with: 'with()', scope: 'trackpost/scope' },
    { with: 1.1, scope: 1.1 },
    'context',
  ),
  {
    name: 'cold',
    about: 'a new process that loads the client, tracks 3 events and flushes: CPU of the whole process.',
    kind: 'cold',
    run: { events: 3, flushAt },
    rounds: 15,
    slowRounds: 5,
    rows: rows('floor', 'trackpost', 'segment', ...slow),
    targets: [
      {
        metric: 'cpuMillis',
        of: 'trackpost',
        over: 'floor',
        limit: 1.1,
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
        limit: 1.1,
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
