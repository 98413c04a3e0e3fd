const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias']
const MAX_PROBLEMS = 10

export function printReport({ visits, expected, log, recorded, requests, problems, elapsedMs }) {
  console.log(`\nThe shop had ${visits.length} visits, which led to ${expected.length} events.\n`)
  printTable(kindTable(expected, log, recorded))

  console.log('\nOn the way')
  for (const line of [...trafficLines(requests, recorded), ...troubleLines(requests), stopLine(log)]) {
    console.log(`  ${line}`)
  }

  console.log('\nWhat failed, and why')
  printTable(failureTable(log))

  const seconds = (elapsedMs / 1_000).toFixed(1)
  if (problems.length === 0) {
    console.log(`\n${green('OK')}  Every event is accounted for (${seconds} s).`)
    return
  }
  console.log(
    `\n${red('NOT OK')}  ${problems.length === 1 ? 'one value does' : `${problems.length} values do`} not agree (${seconds} s):`,
  )
  for (const problem of problems.slice(0, MAX_PROBLEMS)) console.log(`  ${problem}`)
  if (problems.length > MAX_PROBLEMS) console.log(`  ... and ${problems.length - MAX_PROBLEMS} more`)
}

function kindTable(expected, log, recorded) {
  const kindOf = new Map(expected.map(({ id, kind }) => [id, kind]))
  const repeatedKinds = recorded.duplicates.map((id) => kindOf.get(id))
  const row = (name, isCounted) => [
    name,
    expected.filter(({ kind }) => isCounted(kind)).length,
    log.filter(({ message, kind }) => message === 'delivered' && isCounted(kind)).length,
    log.filter(({ message, kind }) => message === 'not delivered' && isCounted(kind)).length,
    recorded.events.filter(({ type }) => isCounted(type)).length,
    repeatedKinds.filter(isCounted).length,
  ]
  return [
    ['', 'sent', 'delivered', 'failed', 'recorded', 'repeated*'],
    ...KINDS.map((kind) => row(kind, (other) => other === kind)),
    row('total', () => true),
    [
      'sent: what the visits should lead to; delivered, failed: what the SDK says; the rest: what the collector has',
    ],
    ['* the import of some orders was run twice; their ids are the same, so they count once'],
  ]
}

function trafficLines(requests, { events }) {
  const sizes = requests.map(({ ids }) => ids.length)
  const bytes = requests.reduce((sum, request) => sum + request.bytes, 0)
  const count = format(requests.length)
  return [
    `${count} requests, of ${Math.min(...sizes)} to ${Math.max(...sizes)} events each`,
    `${format(bytes)} bytes, ${format(Math.round(bytes / events.length))} for each event that arrived`,
  ]
}

function troubleLines(requests) {
  return requests.flatMap((request, index) => {
    if (request.status === 200) return []
    const later = requests.slice(index + 1)
    const taken = later.find(({ status, ids }) => status === 200 && ids.includes(request.ids[0]))
    const said = `request ${index + 1}, of ${request.ids.length} events, got a ${request.status} from the relay`
    if (taken === undefined) return [`${said}, and its events never arrived`]
    const seconds = ((taken.atMs - request.atMs) / 1_000).toFixed(1)
    return [`${said}; its events arrived ${seconds} s later with request ${requests.indexOf(taken) + 1}`]
  })
}

function stopLine(log) {
  const pending = log.find(({ message }) => message === 'stopping')?.stats.pending ?? 0
  return `the shop was told to stop while ${pending} events were waiting, and delivered them first`
}

function failureTable(log) {
  const failures = log.filter(({ message }) => message === 'not delivered')
  return failures.map(({ code, kind, id, reason }) => [code, kind, id, reason])
}

/** A row of one cell is printed as a note below the table. */
function printTable(rows) {
  const columns = rows.filter(({ length }) => length > 1)
  const widths = (columns[0] ?? []).map((_, index) =>
    Math.max(...columns.map((row) => format(row[index]).length)),
  )
  const isNumber = widths.map((_, index) => columns.some((row) => typeof row[index] === 'number'))
  for (const row of rows) {
    const cells = row.map((cell, index) => {
      if (row.length === 1) return cell
      return isNumber[index] ? format(cell).padStart(widths[index]) : format(cell).padEnd(widths[index])
    })
    console.log(`  ${cells.join('   ')}`.trimEnd())
  }
}

function format(cell) {
  return typeof cell === 'number' ? cell.toLocaleString('en') : String(cell)
}

function green(text) {
  return paint(text, 32)
}

function red(text) {
  return paint(text, 31)
}

function paint(text, code) {
  return process.stdout.isTTY && !process.env.NO_COLOR ? `\x1b[${code}m${text}\x1b[0m` : text
}
