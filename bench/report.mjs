import { median } from './runner.mjs'

const MEGABYTE = 1024 * 1024

/**
 * Divides one row's metric by another row's metric in each round in which both rows were run. Returns the median of these
 * ratios.
 *
 * @param {object[]} of Results of a row, by round. `undefined` if the row was not run in a round.
 * @param {object[]} over Results of the other row, by round.
 * @param {object[]} [harness] Results of the row without a client. Before CPU times are divided, the median of these results is
 * subtracted from both, so that the ratio does not include the cost of making the calls.
 */
export function ratio(of, over, metric, harness) {
  const values = of.map((result, round) => {
    const other = over[round]
    if (!result || !other || result.failed || other.failed) return undefined
    const own = harness ? (harnessMedian(harness, metric) ?? 0) : 0
    return (result[metric] - own) / (other[metric] - own)
  })
  return median(values)
}

function harnessMedian(harness, metric) {
  return metric === 'cpuMicros' ? median(good(harness).map((run) => run[metric])) : undefined
}

export function scenarioTable(scenario, results) {
  const columns = columnsOf(scenario, results)
  const lines = scenario.rows
    .filter(({ label }) => results.has(label))
    .map((row) => columns.map(({ cell }) => cell(row, results.get(row.label))))
  const notes = scenario.rows
    .filter(({ label }) => results.has(label))
    .flatMap((row) => [row.note, row.adapterNote].filter(Boolean).map((note) => `- ${row.label}: ${note}`))
  return [
    `## ${scenario.name}`,
    '',
    scenario.about,
    '',
    ...table(
      columns.map(({ title }) => title),
      lines,
    ),
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
  ].join('\n')
}

export function targetRows(scenario, results) {
  return scenario.targets
    .filter(({ of, over }) => results.has(of) && results.has(over))
    .map(({ of, over, metric, limit, text }) => {
      const value = ratio(results.get(of), results.get(over), metric, results.get('none'))
      let verdict = '-'
      if (value === undefined) verdict = 'not measured'
      else if (limit !== undefined) verdict = value <= limit ? 'met' : 'missed'
      return [
        scenario.name,
        text,
        limit === undefined ? '-' : `at most ${limit} x`,
        value === undefined ? '-' : `${value.toFixed(2)} x`,
        verdict,
      ]
    })
}

export function table(titles, lines) {
  const widths = titles.map((title, column) =>
    Math.max(3, title.length, ...lines.map((line) => String(line[column]).length)),
  )
  const row = (cells) =>
    `| ${cells.map((cell, column) => (column === 0 ? String(cell).padEnd(widths[column]) : String(cell).padStart(widths[column]))).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [row(titles), rule, ...lines.map(row)]
}

function columnsOf(scenario, results) {
  const floor = results.get('floor')
  const value = (title, metric, digits, scale = 1) => ({
    title,
    cell: (_row, runs) => number(median(good(runs).map((run) => run[metric] / scale)), digits),
  })
  const spread = (title, metric, digits) => ({
    title,
    cell(_row, runs) {
      const values = good(runs).map((run) => run[metric])
      if (values.length < 2) return '-'
      return `${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)}`
    },
  })
  const overFloor = (metric) => ({
    title: 'x floor',
    cell: ({ adapter }, runs) =>
      floor && adapter !== 'none' ? number(ratio(runs, floor, metric, results.get('none')), 2) : '-',
  })
  const client = { title: 'client', cell: ({ label }) => label }
  const sink = (title, read) => ({
    title,
    cell: (_row, runs) => number(median(good(runs).map((run) => read(run.sink, run))), 0),
  })
  const arrived = { title: 'arrived', cell: (_row, runs) => arrival(runs) }

  switch (scenario.kind) {
    case 'cpu':
      return [
        client,
        value('CPU µs/event', 'cpuMicros', 1),
        spread('min-max', 'cpuMicros', 1),
        ...(floor ? [overFloor('cpuMicros')] : []),
        value('RSS growth MB', 'rssGrowthBytes', 1, MEGABYTE),
        ...(floor ? [overFloor('rssGrowthBytes')] : []),
        value('wall ms', 'wallMs', 0),
        sink('requests', ({ requests }) => requests),
        sink('bytes/event', ({ bytes, events }) => bytes / events),
        arrived,
      ]
    case 'confirm':
      return [
        client,
        value('p50 ms', 'p50', 3),
        overFloor('p50'),
        value('p99 ms', 'p99', 3),
        value('CPU µs/event', 'cpuMicros', 0),
        overFloor('cpuMicros'),
        value('events', 'events', 0),
        arrived,
      ]
    case 'waiting':
      return [
        client,
        perTenThousand('heap MB', 'heapBytesPerEvent'),
        overFloor('heapBytesPerEvent'),
        perTenThousand('RSS MB', 'rssBytesPerEvent'),
        overFloor('rssBytesPerEvent'),
        { title: 'run', cell: (_row, runs) => failures(runs) || 'ok' },
      ]
    case 'cold':
      return [
        client,
        value('CPU ms', 'cpuMillis', 1),
        spread('min-max', 'cpuMillis', 1),
        overFloor('cpuMillis'),
        arrived,
      ]
    default:
      throw new TypeError(`unknown kind of scenario: ${scenario.kind}`)
  }
}

function perTenThousand(title, metric) {
  return {
    title,
    cell: (_row, runs) => number(median(good(runs).map((run) => (run[metric] * 10_000) / MEGABYTE)), 1),
  }
}

function good(runs) {
  return runs.filter((run) => run && !run.failed)
}

/** `all`, or how many of the events were lost, arrived twice or could not be read. */
function arrival(runs) {
  const sum = (read) => good(runs).reduce((total, run) => total + read(run), 0)
  const sent = sum(({ events }) => events)
  const parts = [
    [sum(({ lost }) => lost), 'lost'],
    [sum(({ twice }) => twice), 'twice'],
    [sum(({ sink }) => sink.unreadable), 'unreadable'],
  ]
    .filter(([events]) => events > 0)
    .map(([events, word]) => `${thousands(events)} ${word} of ${thousands(sent)}`)
  return [...parts, failures(runs)].filter(Boolean).join('; ') || (sent > 0 ? 'all' : '-')
}

function failures(runs) {
  const failed = runs.filter((run) => run?.failed)
  return failed.length > 0 ? `${failed.length} failed: ${failed[0].failed.trim().slice(0, 80)}` : ''
}

function number(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits) : '-'
}

function thousands(value) {
  return value.toLocaleString('en-US')
}
