import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ndjson, newFile, newFolder, run, serve, shareCollector, startServer } from './support.ts'

const CSV = `customer_id,name,at,amount,note
ada,Order Completed,2024-01-02 03:04:05,42.5,"said ""hi"", left
and came back"
bob,Order Completed,2024-01-02T03:04:05.250+01:00,7,
`
const MAP = [
  '--type',
  'track',
  '--map',
  'userId=customer_id,event=name',
  '--map',
  'timestamp=at,properties.total:number=amount,properties.note=note',
]

const OBJECTS = [
  { type: 'identify', userId: 'ada', traits: { plan: 'pro' }, timestamp: '2024-01-01T00:00:00Z' },
  { type: 'page', anonymousId: 'visitor', name: 'Home', timestamp: '2024-01-01T00:00:01Z' },
  { type: 'group', userId: 'ada', groupId: 'acme', timestamp: '2024-01-01T00:00:02Z' },
]

const collector = shareCollector()

describe('formats', () => {
  test.each([
    ['NDJSON', 'events.ndjson', OBJECTS.map((one) => JSON.stringify(one)).join('\n')],
    [
      'NDJSON with Windows line ends and blank lines',
      'events.txt',
      OBJECTS.map((one) => JSON.stringify(one)).join('\r\n\r\n'),
    ],
    ['a JSON array', 'events.json', JSON.stringify(OBJECTS)],
    ['a JSON array over many lines', 'events.json', JSON.stringify(OBJECTS, null, 2)],
    ['NDJSON in gzip', 'events.ndjson.gz', gzipSync(OBJECTS.map((one) => JSON.stringify(one)).join('\n'))],
    ['gzip without .gz in its name', 'events', gzipSync(JSON.stringify(OBJECTS))],
    [
      'NDJSON with a byte order mark',
      'events.ndjson',
      `\uFEFF${OBJECTS.map((one) => JSON.stringify(one)).join('\n')}`,
    ],
  ])('%s: every event is delivered', async (_label, name, content) => {
    const { code, stdout, stderr } = await run(['import', newFile(name, content)], { env: collector.env })

    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('3 lines: 3 delivered, 0 refused')
    const stored = await collector.events()
    expect(stored.map(({ type, userId, message }) => [type, userId, message.timestamp.slice(0, 10)])).toEqual(
      [
        ['identify', 'ada', '2024-01-01'],
        ['page', null, '2024-01-01'],
        ['group', 'ada', '2024-01-01'],
      ],
    )
  })

  test.each([
    ['commas', 'a.csv', CSV],
    ['a byte order mark', 'a.csv', `\uFEFF${CSV}`],
    ['gzip', 'a.csv.gz', gzipSync(CSV)],
    ['Windows line ends', 'a.csv', CSV.replaceAll('\n', '\r\n').replace('left\r\n', 'left\n')],
    ['UTF-16', 'a.csv', Buffer.from(`\uFEFF${CSV}`, 'utf16le')],
    ['UTF-16, big-endian, in gzip', 'a.csv.gz', gzipSync(Buffer.from(`\uFEFF${CSV}`, 'utf16le').swap16())],
    ['tabs', 'a.tsv', CSV.replaceAll(',', '\t').replace('\t left', ', left')],
  ])('CSV with %s is read', async (_label, name, content) => {
    const { code, stderr } = await run(['import', newFile(name, content), ...MAP], { env: collector.env })

    expect([code, stderr]).toEqual([0, ''])
    const [ada, bob] = await collector.events()
    const note = 'said "hi", left\nand came back'
    expect(ada).toMatchObject({
      userId: 'ada',
      name: 'Order Completed',
      message: { properties: { total: 42.5, note } },
    })
    // A timestamp without a time zone is UTC, even if this machine has another time zone.
    expect(ada?.message['originalTimestamp']).toBe('2024-01-02T03:04:05.000Z')
    expect(bob?.message['originalTimestamp']).toBe('2024-01-02T02:04:05.250Z')
    expect(bob?.message.properties).toEqual({ total: 7 })
  })

  test('columns that are named like message fields need no mapping, and --rest sends the other columns', async () => {
    const csv =
      'type,userId,event,properties.items:json,plan,__proto__,empty\ntrack,ada,Paid,[1],pro,odd,\nidentify,bob,,,free,,\n'

    const { code, stderr } = await run(['import', newFile('a.csv', csv), '--rest'], { env: collector.env })

    expect([code, stderr]).toEqual([0, ''])
    const [ada, bob] = await collector.events()
    expect(JSON.stringify(ada?.message.properties)).toBe('{"plan":"pro","__proto__":"odd","items":[1]}')
    expect(bob?.message['traits']).toEqual({ plan: 'free' })
  })

  test.each([
    ['a semicolon', ';'],
    ['a tab', '\t'],
    ['a vertical bar', '|'],
  ])('%s is found as the delimiter of a file whose fields are quoted', async (_what, delimiter) => {
    const rows = [
      ['userId', 'event', 'a "note"\nof two lines, with a comma'],
      ['ada', 'Paid', 'x'],
    ]
    const content = rows
      .map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(delimiter))
      .join('\n')

    const { code } = await run(['import', newFile('a.csv', content), '--type', 'track', '--rest'], {
      env: collector.env,
    })

    expect(code).toBe(0)
    const [first, ...others] = await collector.events()
    expect(others).toEqual([])
    expect(first?.message).toMatchObject({
      userId: 'ada',
      event: 'Paid',
      properties: { 'a "note"\nof two lines, with a comma': 'x' },
    })
  })

  test('columns and fields that are not sent are reported, with the option for what their names say', async () => {
    const rows = 'user_id,event_name,Created At,plan\nada,Paid,2024-01-02,pro\n'
    const csv = await run(['import', newFile('a.csv', rows), '--type', 'track', '--dry-run'])
    const json = await run([
      ...['import', newFile('a.ndjson', '{"userId":"ada","event":"e","plan":"pro"}'), '--dry-run'],
      ...['--type', 'track', '--map', 'properties.x=nowhere'],
    ])
    const refused = await run([
      ...['import', newFile('a.ndjson', '{"at":"soon","id":"ada"}'), '--dry-run', '--type', 'track'],
      ...['--map', 'timestamp=at,userId=id'],
    ])

    const notSent =
      'once not sent; --rest sends what has no field of its own as properties or traits; first in'
    for (const [column, map] of [
      ['user_id', '; as userId: --map "userId=user_id"'],
      ['event_name', '; as event: --map "event=event_name"'],
      ['Created At', '; as timestamp: --map "timestamp=Created At"'],
      ['plan', ''],
    ])
      expect(csv.stdout).toContain(`\n${column}: ${notSent} line 2, column "${column}"${map}\n`)
    expect(json.stdout).toContain(`\nplan: ${notSent} line 1, column "plan"\n`)
    expect(json.stderr).toContain('no line has nowhere')
    expect(refused.stderr).toContain('column "at": expected a date')
    expect(refused.stderr).not.toContain('no line has')
  })

  test('constant values, a file without a header and a column with a comma in its name are accepted', async () => {
    const set = ['--set', 'context.source=crm']
    const args = ['--type', 'track', '--delimiter', ';', '--set', 'integrations.All:=false']

    const plain = await run(
      ['import', newFile('a.csv', 'ada;Paid\n'), ...args, ...set, '--columns', 'userId,event'],
      { env: collector.env },
    )
    const comma = await run(
      [
        'import',
        newFile('b.csv', 'who, where;what\nbob;Left\n'),
        ...args,
        '--map',
        'userId=who, where,event=what',
      ],
      { env: collector.env },
    )

    expect([plain.code, comma.code]).toEqual([0, 0])
    expect((await collector.events()).map(({ userId, message }) => [userId, message])).toMatchObject([
      ['ada', { event: 'Paid', integrations: { All: false }, context: { source: 'crm' } }],
      ['bob', { event: 'Left', integrations: { All: false } }],
    ])
  })
})

test('a repeated import makes no duplicates, and two equal lines are two events', async () => {
  const line = '{"type":"track","userId":"ada","event":"Paid","timestamp":"2024-01-01T00:00:00Z"}\n'
  const file = newFile('events.ndjson', line + line)

  await run(['import', file], { env: collector.env })
  const copy = join(newFolder(), basename(file))
  renameSync(file, copy)
  const again = await run(['import', copy], { env: collector.env })

  expect(again.code).toBe(0)
  const { accepted, byReason } = await collector.stats()
  expect([accepted, byReason]).toEqual([2, { duplicate: 2 }])
})

const BROKEN = [
  '{"type":"track","userId":"ada","event":"Paid"}',
  '{"type":"track","userId":"ada","event":}',
  '{"type":"track","userId":"ada"}',
  '{"type":"buy","userId":"ada"}',
  '[1]',
  '{"type":"track","userId":"ada","event":"Paid","timestamp":1700000000}',
  `{"type":"track","userId":"ada","event":"Paid","properties":{"text":"${'x'.repeat(33_000)}"}}`,
].join('\n')

test('a dry run reports every mistake with its line, and sends nothing', async () => {
  const file = newFile('events.ndjson', BROKEN)

  const { code, stdout, stderr } = await run(['import', file, '--dry-run'])

  expect(code).toBe(1)
  expect(stderr.split('\n')).toEqual([
    `${file}:2:40: expected a value, but found "}"`,
    `${file}:3: column "event": track: event: expected a non-empty string, got undefined`,
    `${file}:4: column "type": type: expected identify, track, page, screen, group or alias, got "buy"`,
    `${file}:5: expected an object, got an array`,
    `${file}:6: column "timestamp": expected a time from 2000 to a year from now, got 1700000000 in milliseconds; in seconds it is 2023-11-14: use timestamp:s`,
    expect.stringMatching(/:7: the message has 33\d\d\d bytes; the limit is 32768$/),
    '',
  ])
  expect(stdout).toContain('7 lines: 1 valid, 6 invalid (invalid 3, invalid_json 2, too_large 1)')
  expect(existsSync(`${file}.trackpost-state.json`)).toBe(false)
  expect(existsSync(join(dirname(file), 'events.rejects.ndjson'))).toBe(false)
})

test.each([
  ['a CSV file with only a header', 'a.csv', 'userId,event\n'],
  ['an empty array', 'a.json', '[]'],
])('%s is imported with a note', async (_label, name, content) => {
  const file = newFile(name, content)
  const args = ['import', file, '--type', 'track']

  const first = await run(args, { env: collector.env })
  const resumed = await run([...args, '--resume'], { env: collector.env })

  expect([first.code, first.stderr]).toEqual([0, `${file}: there are no events in it\n`])
  expect([resumed.code, resumed.stderr]).toEqual([
    0,
    `${file}: continues at line ${name === 'a.csv' ? 2 : 1}\n`,
  ])
})

test.each([
  ['a.ndjson', ''],
  ['a.csv', ''],
  ['a.json', '\uFEFF \n'],
  ['a.csv.gz', gzipSync('')],
])('an empty file is refused: %s', async (name, content) => {
  const file = newFile(name, content)

  const { code, stderr } = await run(['import', file, '--type', 'track'], { env: collector.env })

  expect([code, stderr]).toEqual([2, `trackpost: ${file}:1: the file is empty\n`])
})

test('a dry run shows the event that the first line becomes', async () => {
  const file = newFile('a.csv', 'who,what,amount\nada,Paid,4.5\nbob,Paid,1\n')
  const args = ['import', file, '--dry-run', '--type', 'track', '--map', 'userId=who,event=what', '--rest']

  const text = await run(args)
  const json = await run([...args, '--json'])

  const example = {
    type: 'track',
    userId: 'ada',
    event: 'Paid',
    properties: { amount: '4.5' },
    messageId: expect.any(String),
  }
  expect(JSON.parse(/^the first event: (.*)$/m.exec(text.stdout)?.[1] ?? '')).toEqual(example)
  expect(JSON.parse(json.stdout).example).toEqual(example)
})

test('CSV without an event kind is refused as a whole, and nothing is sent', async () => {
  const server = await startServer(() => undefined)
  const file = newFile('a.csv', 'userId,event\nada,Paid\nbob,Left\n')

  const { code, stderr } = await run(['import', file], { env: server.env })

  expect([code, stderr.trimEnd().split('\n')]).toEqual([
    2,
    [expect.stringMatching(/a\.csv:1: .*--type .*--map type=/)],
  ])
  expect([server.requests, readdirSync(dirname(file))]).toEqual([0, ['a.csv']])
})

test.each([
  ['--type', 'track'],
  ['--set', 'type=track'],
  ['--map', 'type=kind'],
])('CSV is sent if its event kind comes from %s %s', async (...args) => {
  const file = newFile('a.csv', 'kind,userId,event\ntrack,ada,Paid\n')

  const { code } = await run(['import', file, ...args], { env: collector.env })

  expect([code, (await collector.stats()).accepted]).toEqual([0, 1])
})

test('a dry run of CSV names the column as in the header, not the mapped field', async () => {
  const csv =
    'who,what,when,amount\nada,Paid,yesterday,1\nada,Paid,2024-01-01,"1,5"\n,Paid,2024-01-01,1\nada\n'
  const file = newFile('a.csv', csv)
  const map = [
    '--type',
    'track',
    '--map',
    'userId=who,event=what,timestamp=when,properties.total:number=amount',
  ]

  const { stderr } = await run(['import', file, '--dry-run', ...map])

  expect(stderr.split('\n')).toEqual([
    expect.stringContaining(`${file}:2: column "when": expected a date in ISO 8601`),
    `${file}:3: column "amount": expected a number, got "1,5"; for a decimal comma: --decimal ,`,
    `${file}:4: column "who": track: expected userId or anonymousId, got neither`,
    `${file}:5: expected 4 columns, got 1`,
    '',
  ])
})

test('--json prints one object that contains the problems', async () => {
  const { code, stdout, stderr } = await run([
    'import',
    newFile('events.ndjson', BROKEN),
    '--dry-run',
    '--json',
  ])

  expect([code, stderr]).toEqual([1, ''])
  const result = JSON.parse(stdout)
  expect(result).toMatchObject({
    dryRun: true,
    lines: 7,
    delivered: 1,
    refused: 6,
    resumeLine: null,
    problem: null,
  })
  expect(result.problems[0]).toEqual({
    line: 2,
    column: 40,
    reason: 'invalid_json',
    message: expect.any(String),
  })
})

describe('refused lines', () => {
  test('corrected NDJSON is imported, and every event has arrived once', async () => {
    const file = newFile('events.ndjson', BROKEN)

    const first = await run(['import', file], { env: collector.env })

    expect(first.code).toBe(1)
    const rejects = join(dirname(file), 'events.rejects.ndjson')
    expect(first.stdout).toContain(`the refused lines are in ${rejects}`)
    const lines = readFileSync(rejects, 'utf8').trimEnd().split('\n')
    expect(lines.length).toBe(6)
    expect(JSON.parse(lines[1] as string)._trackpost).toMatchObject({
      line: 3,
      reason: expect.stringContaining('event'),
    })
    const mended = lines
      .map((line) => line.replace('"event":}', '"event":"Paid"}').replace('"buy"', '"identify"'))
      .map((line) =>
        line.replace('"userId":"ada","_trackpost"', '"userId":"ada","event":"Left","_trackpost"'),
      )
      .map((line) =>
        line
          .replace('1700000000', '"2024-01-01"')
          .replace(/x{100,}/, 'short')
          .replace('[1]', ''),
      )
    writeFileSync(rejects, mended.join('\n'))
    const second = await run(['import', rejects], { env: collector.env })
    const again = await run(['import', rejects], { env: collector.env })

    expect([second.stderr, second.code, again.code]).toEqual(['', 0, 0])
    const { accepted, byReason } = await collector.stats()
    expect(accepted).toBe(6)
    expect(Object.values(byReason).reduce((sum, count) => sum + count, 0)).toBe(5)
    const events = await collector.events('status:accepted')
    expect(events.some(({ message }) => '_trackpost' in message)).toBe(false)
    // The event keeps the messageId that was derived from its line in the first file.
    expect(events.map(({ messageId }) => messageId)).toContain(
      JSON.parse(lines[1] as string)._trackpost.messageId,
    )
  })

  test('refused CSV rows keep their columns, and get the reason in front', async () => {
    const file = newFile(
      'a.csv',
      'who,what,total\nada,Paid,"1,5"\nbob,"half\nada,Paid,3\n"x"y,z,1\nshort,row\n',
    )
    const map = ['--type', 'track', '--map', 'userId=who,event=what,properties.total:number=total']

    const first = await run(['import', file, ...map], { env: collector.env })

    const rejects = join(dirname(file), 'a.rejects.csv')
    const text = readFileSync(rejects, 'utf8')
    expect(first.stderr.split('\n').slice(0, 4)).toEqual([
      `${file}:2: column "total": expected a number, got "1,5"; for a decimal comma: --decimal ,`,
      `${file}:3: a quoted field has no closing quote, or text after its closing quote`,
      `${file}:5: a quoted field has no closing quote, or text after its closing quote`,
      `${file}:6: expected 3 columns, got 2`,
    ])
    expect(text).toMatch(
      /^_trackpost_reason,_trackpost_message_id,who,what,total\n"invalid: expected a number, got ""1,5""; for a decimal comma: --decimal ,",import-[\w-]{32},ada,Paid,"1,5"\n"invalid_csv: a quoted .*",,bob,"half\n"invalid_csv: a quoted .*",,"x"y,z,1\n"invalid_csv: expected 3 columns, got 2",import-[\w-]{32},short,row\n$/,
    )
    writeFileSync(
      rejects,
      text
        .replace(',"1,5"\n', ',1.5\n')
        .replace('bob,"half', 'bob,half,1')
        .replace('"x"y', 'xy')
        .replace('short,row', 'short,row,2'),
    )
    const second = await run(['import', rejects, ...map], { env: collector.env })
    expect([second.stderr, second.code]).toEqual(['', 0])
    const stored = await collector.events('status:accepted')
    expect(stored.map(({ userId, message }) => [userId, message.properties])).toEqual([
      ['ada', { total: 3 }],
      ['ada', { total: 1.5 }],
      ['bob', { total: 1 }],
      ['xy', { total: 1 }],
      ['short', { total: 2 }],
    ])
  })

  test('a CSV row with cells too many or too few is refused again until it is corrected', async () => {
    const bad = ['b,Moved,Bern,CH,Europe', 'c,Moved,Graz,CH,Europe', 'd', 'e,Moved,Linz,AT']
    const file = newFile('a.csv', `userId,event,properties.city\na,Moved,Berlin\n${bad.join('\n')}\n`)
    const rejects = file.replace('.csv', '.rejects.csv')
    const ofRejects = file.replace('.csv', '.rejects.rejects.csv')
    const importIt = (path: string) => run(['import', path, '--type', 'track'], { env: collector.env })

    const first = await importIt(file)
    const withoutNote = readFileSync(rejects, 'utf8').replace(/.*(?=e,Moved)/, '')
    writeFileSync(rejects, withoutNote)
    const second = await importIt(rejects)
    const third = await importIt(ofRejects)

    expect(first.stdout).toContain('1 delivered, 4 refused (invalid_csv 4)')
    expect(second.stdout).toContain('0 delivered, 4 refused (invalid_csv 4)')
    expect(third.stdout).toContain('0 delivered, 4 refused (invalid_csv 4)')
    const text = readFileSync(ofRejects, 'utf8')
    const ids = text.match(/import-[\w-]+/g) ?? []
    writeFileSync(
      ofRejects,
      text
        .replaceAll(',CH,Europe', '')
        .replace(/,d$/m, ',d,Moved,Rom')
        .replace('e,Moved,Linz,AT', ',,e,Moved,Linz'),
    )
    const { code, stderr } = await importIt(ofRejects)
    expect([code, stderr]).toEqual([0, ''])
    const stored = await collector.events()
    const events = stored.map(({ userId, messageId, message }) => [userId, messageId, message.properties])
    expect(events.sort()).toEqual([
      ['a', expect.any(String), { city: 'Berlin' }],
      ['b', ids[0], { city: 'Bern' }],
      ['c', ids[1], { city: 'Graz' }],
      ['d', ids[2], { city: 'Rom' }],
      ['e', expect.any(String), { city: 'Linz' }],
    ])
  })

  test('the rejects file is imported with the options of the first file', async () => {
    const text = 'All events\nJürgen;Kauf;1,5\nNULL;Käufe;2,5\n'
    const file = newFile('a.csv', Buffer.from(text, 'latin1'))
    const args = ['--type', 'track', '--encoding', 'windows-1252', '--skip-lines', '1', '--decimal', ',']
    const columns = ['--columns', 'userId,event,properties.total:number', '--delimiter', ';']
    const importIt = (path: string) => run(['import', path, ...args, ...columns], { env: collector.env })

    const first = await importIt(file)
    const rejects = file.replace('.csv', '.rejects.csv')
    writeFileSync(rejects, readFileSync(rejects, 'utf8').replace('NULL', 'Zoë'))
    const second = await importIt(rejects)

    expect([first.code, second.code, second.stderr]).toEqual([1, 0, ''])
    const stored = await collector.events()
    expect(stored.map(({ userId, name, message }) => [userId, name, message.properties])).toEqual([
      ['Jürgen', 'Kauf', { total: 1.5 }],
      ['Zoë', 'Käufe', { total: 2.5 }],
    ])
  })

  test('two CSV rows with broken quotes do not become one good row in the rejects file', async () => {
    const file = newFile('a.csv', 'userId,event\na,"x\nb,"Paid"\nc,2,y"\n')
    const importIt = (path: string) => run(['import', path, '--type', 'track'], { env: collector.env })

    const first = await importIt(file)
    const second = await importIt(file.replace('.csv', '.rejects.csv'))

    expect(first.stdout).toContain('1 delivered, 2 refused (invalid_csv 2)')
    expect(second.stdout).toContain('0 delivered, 2 refused (invalid_csv 2)')
  })

  test('if the service refuses a batch, only its bad line counts as refused', async () => {
    const bad = ndjson(1)
    const server = await startServer((_request, ids) =>
      ids.length > 1 ? 400 : ids[0] === 'bad' ? 400 : undefined,
    )
    const lines = ['good-1', 'bad', 'good-2'].map((messageId) =>
      JSON.stringify({ ...JSON.parse(bad), messageId }),
    )

    const { code, stderr, stdout } = await run(['import', newFile('a.ndjson', lines.join('\n'))], {
      env: server.env,
    })

    expect(code).toBe(1)
    expect(server.taken.sort()).toEqual(['good-1', 'good-2'])
    expect(stderr).toContain('a.ndjson:2: [400] Bad Request')
    expect(stdout).toContain('2 delivered, 1 refused (rejected 1)')
  })

  test('an existing rejects file, perhaps half corrected, is not overwritten', async () => {
    const file = newFile('events.ndjson', BROKEN)
    const mine = join(dirname(file), 'events.rejects.ndjson')
    writeFileSync(mine, 'half mended')

    const { stdout } = await run(['import', file], { env: collector.env })

    expect(readFileSync(mine, 'utf8')).toBe('half mended')
    expect(stdout).toContain('events.rejects-2.ndjson')
  })
})

describe('an import changes nothing in silence', () => {
  test.each(['ndjson', 'csv'])('what the collector exports as %s goes in as it is', async (format) => {
    const messages = [
      {
        type: 'track',
        userId: '=1+1',
        event: 'Paid',
        properties: { total: 0.1, note: 'a "b",\n=c' },
        messageId: 'm-1',
      },
      {
        type: 'identify',
        anonymousId: '-17',
        traits: { plan: 'pro' },
        context: { ip: '203.0.113.1' },
        messageId: 'm-2',
      },
      {
        type: 'page',
        userId: 'ada',
        name: '@home',
        properties: {},
        timestamp: '2024-01-02T03:04:05.678Z',
        messageId: 'm-3',
      },
      { type: 'alias', userId: 'ada', previousId: 'v-1', messageId: 'm-4' },
      { type: 'group', userId: 'ada', groupId: 'acme', traits: { size: 3 }, messageId: 'm-5' },
    ]
    await collector.post('/v1/batch', {
      writeKey: 'history',
      batch: messages,
      sentAt: new Date().toISOString(),
    })
    const facts = async () =>
      (await collector.events()).map(({ message }) => {
        const { type, userId, anonymousId, event, name, previousId, groupId, messageId, timestamp } = message
        const { context = {}, properties, traits } = message
        const { ip } = context as Record<string, unknown>
        return {
          type,
          userId,
          anonymousId,
          event,
          name,
          previousId,
          groupId,
          messageId,
          timestamp,
          properties,
          traits,
          ip,
        }
      })
    const before = await facts()
    const text = await (await fetch(`${collector.url}/api/export?format=${format}`)).text()
    await fetch(`${collector.url}/api/events`, { method: 'DELETE' })

    const { code, stdout } = await run(['import', newFile(`events.${format}`, text), '--json'], {
      env: collector.env,
    })

    const { delivered, notes } = JSON.parse(stdout)
    expect([code, delivered]).toEqual([0, 5])
    expect(notes).toContainEqual(expect.objectContaining({ kind: 'export', count: 5 }))
    expect(await facts()).toEqual(before)
  })

  test('a path takes one value out of its object, and the rest of the object is sent', async () => {
    const line = {
      event: 'Buy',
      properties: { id: 'u1', deep: { time: 1704164645, kept: 1 }, 'a.b': 'literal' },
      context: { device: { id: 'd-1' }, ip: '203.0.113.1' },
      payload: { name: 'x', left: 2 },
    }
    const map =
      'userId=properties.id,timestamp:s=properties.deep.time,anonymousId=context.device.id,properties.name=payload.name'
    const args = [
      'import',
      newFile('a.ndjson', JSON.stringify(line)),
      '--type',
      'track',
      '--map',
      map,
      '--dry-run',
      '--json',
    ]

    const plain = JSON.parse((await run(args)).stdout)
    const withRest = JSON.parse((await run([...args, '--rest'])).stdout)

    const properties = { deep: { kept: 1 }, 'a.b': 'literal', name: 'x' }
    expect(plain.example).toMatchObject({
      userId: 'u1',
      anonymousId: 'd-1',
      timestamp: '2024-01-02T03:04:05.000Z',
    })
    expect(plain.example.context).toEqual({ ip: '203.0.113.1' })
    expect(plain.example.properties).toEqual(properties)
    expect(plain.notes).toEqual([
      expect.objectContaining({ kind: 'not_sent', field: 'payload', line: 1, column: 'payload' }),
    ])
    expect(withRest.example.properties).toEqual({ ...properties, payload: { left: 2 } })
    expect(withRest.notes).toEqual([])
  })

  test('a note has its count, and the line and column of the first', async () => {
    const file = newFile(
      'a.csv',
      'who,event,timestamp\nada,A,2024-01-02\nNULL,A,2024-01-02\n\\N,B,2024-01-02\n',
    )
    const args = [
      'import',
      file,
      '--type',
      'track',
      '--map',
      'userId=who',
      '--set',
      'anonymousId=v',
      '--dry-run',
    ]

    const text = await run(args)
    const json = await run([...args, '--json'])

    expect(text.stdout).toContain(
      'userId: 2 times taken as no id, because it is a word such as NULL, None or \\N; first in line 3, column "who"',
    )
    expect(JSON.parse(json.stdout).notes).toEqual([
      { kind: 'no_id', field: 'userId', count: 2, line: 3, column: 'who', message: expect.any(String) },
    ])
  })

  test('fields that a kind of event has not, or that have two values, are counted', async () => {
    const lines = [
      {
        type: 'track',
        userId: 'a',
        event: 'A',
        traits: { plan: 'pro' },
        name: 'x',
        plan: 1,
        properties: { plan: 2 },
      },
      { type: 'alias', userId: 'a', previousId: 'b', anonymousId: 'c' },
      { type: 'page', userId: 'a', category: 'Docs', properties: { category: 'docs' } },
      { type: 'track', userId: 'a', event: 'A', properties: { text: '\ud800' } },
    ].map((one) => JSON.stringify({ ...one, timestamp: '2024-01-02' }))

    const { stdout } = await run([
      'import',
      newFile('a.ndjson', lines.join('\n')),
      '--rest',
      '--set',
      'userId=b',
      '--dry-run',
      '--json',
    ])

    const { notes } = JSON.parse(stdout)
    expect(
      notes.map(({ kind, field, count, line }: Record<string, unknown>) => [kind, field, count, line]),
    ).toEqual([
      ['replaced', 'userId', 4, 1],
      ['replaced', 'properties.plan', 1, 1],
      ['no_field', 'traits', 1, 1],
      ['no_field', 'name', 1, 1],
      ['no_field', 'anonymousId', 1, 2],
      ['replaced', 'properties.category', 1, 3],
      ['surrogate', 'properties.text', 1, 4],
    ])
  })

  test('equal events in one line are several events, also after a resumed import', async () => {
    const event = '{"type":"track","userId":"ada","event":"A"}'
    const importIt = (name: string, text: string) =>
      run(['import', newFile(name, text)], { env: collector.env })

    await importIt('a.json', `[${event},${event}]`)
    await importIt('firehose', event.repeat(3))

    expect((await collector.stats()).accepted).toBe(5)
  })

  test('the times of the file arrive, whatever the clock of this machine shows, and a wrong clock is told', async () => {
    const bodies: Record<string, unknown>[] = []
    const aheadMs = { value: 0 }
    const url = await serve((request, response) => {
      let text = ''
      request.on('data', (part) => {
        text += part
      })
      request.on('end', () => {
        bodies.push(JSON.parse(text))
        response.setHeader('date', new Date(Date.now() - aheadMs.value).toUTCString())
        response.end('{"success":true}')
      })
    })
    const env = { TRACKPOST_HOST: url, TRACKPOST_WRITE_KEY: 'k' }
    const file = newFile(
      'a.ndjson',
      '{"type":"track","userId":"u","event":"A","timestamp":"2024-01-01T00:00:00Z"}',
    )

    const right = await run(['import', file, '--restart'], { env })
    aheadMs.value = 3_600_000
    const wrong = await run(['import', file, '--restart'], { env })
    const sent = await run(['send', 'track', '--user-id', 'u', '--event', 'A', '--timestamp', '2024-01-01'], {
      env,
    })
    const verified = await run(['verify'], { env })

    expect(bodies.slice(0, 3).map(({ sentAt }) => sentAt)).toEqual([undefined, undefined, undefined])
    expect(right.stderr).toBe('')
    for (const { stderr } of [wrong, sent, verified])
      expect(stderr).toMatch(
        /clock of this machine is (?:1 h 0 min|59 min \d+ s) ahead of that of the service/,
      )
  })
})

test('--rate spreads the lines over time', async () => {
  const { code, stdout } = await run(['import', newFile('a.ndjson', ndjson(60)), '--rate', '200', '--json'], {
    env: collector.env,
  })

  expect(code).toBe(0)
  // Of the 60 lines, 20 may be sent at once. At 200 lines a second, the other 40 take 0.2 s.
  expect(JSON.parse(stdout).elapsedMs).toBeGreaterThan(190)
})
