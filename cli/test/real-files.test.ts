import { describe, expect, test } from 'vitest'
import { newFile, run } from './support.ts'

interface RealFile {
  readonly name: string
  readonly content: string | Buffer
  readonly options: readonly string[]
  /** What the first event has. */
  readonly event: object
  readonly valid: number
  /** The kinds of notes, with their counts. */
  readonly notes?: Readonly<Record<string, number>>
}

const lines = (...objects: object[]): string => objects.map((one) => `${JSON.stringify(one)}\n`).join('')
const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le')

const FILES: Readonly<Record<string, RealFile>> = {
  'an archive of Segment': {
    name: 'segment.ndjson',
    content: lines({
      type: 'track',
      event: 'Order Completed',
      userId: 'ada',
      anonymousId: 'v-1',
      properties: { total: 12.5, products: [{ sku: 'a' }] },
      context: { ip: '203.0.113.1', library: { name: 'analytics.js', version: '4.1' } },
      integrations: { All: true },
      messageId: 'ajs-1',
      timestamp: '2024-01-02T03:04:05.678Z',
      originalTimestamp: '2024-01-02T03:04:05.000Z',
      receivedAt: '2024-01-02T03:04:06.000Z',
      sentAt: '2024-01-02T03:04:05.500Z',
      channel: 'client',
      projectId: 'p',
      version: 2,
    }),
    options: [],
    event: {
      messageId: 'ajs-1',
      timestamp: '2024-01-02T03:04:05.678Z',
      properties: { total: 12.5, products: [{ sku: 'a' }] },
    },
    valid: 1,
    notes: { transport: 6, library: 1 },
  },
  'a tracks table of Segment in a warehouse': {
    name: 'tracks.csv',
    content:
      'id,received_at,anonymous_id,context_ip,event,event_text,sent_at,timestamp,user_id\najs-2,2024-01-02 03:04:06.1+00,v-2,203.0.113.1,order_completed,Order Completed,2024-01-02 03:04:05+00,2024-01-02 03:04:05.5+00,\n',
    options: [
      '--type=track',
      '--map=messageId=id,anonymousId=anonymous_id,userId=user_id,event=event_text,context.ip=context_ip',
    ],
    event: {
      anonymousId: 'v-2',
      event: 'Order Completed',
      context: { ip: '203.0.113.1' },
      messageId: 'ajs-2',
    },
    valid: 1,
    notes: { not_sent: 3 },
  },
  'an export of Mixpanel': {
    name: 'mixpanel.ndjson',
    content: lines({
      event: 'Sign Up',
      properties: {
        time: 1704164645,
        distinct_id: 'd-1',
        $insert_id: 'i-1',
        mp_processing_time_ms: 1704164650123,
        amount: 12.5,
      },
    }),
    options: [
      '--type=track',
      '--map=userId=properties.distinct_id,timestamp:s=properties.time,messageId=properties.$insert_id',
    ],
    event: {
      userId: 'd-1',
      messageId: 'i-1',
      timestamp: '2024-01-02T03:04:05.000Z',
      properties: { mp_processing_time_ms: 1704164650123, amount: 12.5 },
    },
    valid: 1,
  },
  'an export of Amplitude': {
    name: 'amplitude.json',
    content: lines(
      {
        $insert_id: 'uuid-1',
        amplitude_id: 123_456_789_012,
        event_type: 'Play Song',
        event_time: '2024-01-02 03:04:05.123000',
        event_properties: { song: 'Ode' },
        user_properties: { plan: 'pro' },
        user_id: null,
        device_id: 'dev-1',
        library: 'amplitude-js/8',
      },
      { $insert_id: 'uuid-2', event_type: 'Stop', event_time: '2024-01-02 03:05:05.123456', user_id: 'ada' },
    ),
    options: [
      '--type=track',
      '--map=messageId=$insert_id,event=event_type,timestamp=event_time,properties=event_properties,userId=user_id,anonymousId=device_id,context.traits=user_properties',
    ],
    event: { anonymousId: 'dev-1', properties: { song: 'Ode' }, context: { traits: { plan: 'pro' } } },
    valid: 2,
    notes: { no_zone: 1, time_digits: 1, not_sent: 2 },
  },
  'GA4 in BigQuery as NDJSON': {
    name: 'ga4.json',
    content: lines({
      event_date: '20240102',
      event_timestamp: '1704164645123456',
      event_name: 'page_view',
      event_params: [{ key: 'ga_session_id', value: { int_value: '1704164600' } }],
      user_pseudo_id: '1234567.1704164600',
    }),
    options: [
      '--type=track',
      '--map=event=event_name,timestamp:us=event_timestamp,anonymousId=user_pseudo_id',
      '--rest',
    ],
    event: {
      event: 'page_view',
      anonymousId: '1234567.1704164600',
      timestamp: '2024-01-02T03:04:05.123Z',
      properties: {
        event_date: '20240102',
        event_params: [{ key: 'ga_session_id', value: { int_value: '1704164600' } }],
      },
    },
    valid: 1,
    notes: { time_digits: 1 },
  },
  'GA4 in BigQuery as CSV, with params as JSON': {
    name: 'ga4.csv',
    content: `event_name,event_timestamp,user_pseudo_id,params\npage_view,1704164645123000,1.2,"{""session"":1704164600123456789}"\n`,
    options: [
      '--type=track',
      '--map=event=event_name,timestamp:us=event_timestamp,anonymousId=user_pseudo_id,properties:json=params',
    ],
    event: { properties: { session: '1704164600123456789' } },
    valid: 1,
    notes: { large: 1 },
  },
  'Snowflake as JSON, with a VARIANT and the column names in capitals': {
    name: 'snowflake.ndjson',
    content: lines({
      USER_ID: '17',
      EVENT: 'Paid',
      TS: 'Tue, 02 Jan 2024 03:04:05 -0800',
      PROPS: '{"n":1}',
      AMOUNT: 1.1,
    }),
    options: [
      '--type=track',
      '--map=userId=USER_ID,event=EVENT,timestamp=TS,properties:json=PROPS,properties.amount=AMOUNT',
    ],
    event: { userId: '17', timestamp: '2024-01-02T11:04:05.000Z', properties: { n: 1, amount: 1.1 } },
    valid: 1,
  },
  'Snowflake as CSV, with \\N and fractions of 38 digits': {
    name: 'snowflake.csv',
    content: `USER_ID,EVENT,TS,RATE\n"\\N",Paid,2024-01-02 03:04:05.123 -0800,0.33333333333333333333\nada,Paid,2024-01-02 03:04:05.123 Z,0.5\n`,
    options: [
      '--type=track',
      '--map=userId=USER_ID,event=EVENT,timestamp=TS,properties.rate:number=RATE',
      '--set=anonymousId=import',
    ],
    event: { anonymousId: 'import', properties: { rate: 0.3333333333333333 } },
    valid: 2,
    notes: { no_id: 1, rounded: 1 },
  },
  'MySQL SELECT INTO OUTFILE': {
    name: 'outfile.txt',
    content: 'ada\tPaid\t2024-01-02 03:04:05\t\\N\nbob\tPaid\t2024-01-02 03:04:05\tpro\n',
    options: [
      '--format=csv',
      '--columns=userId,event,timestamp,properties.plan',
      '--type=track',
      '--null=\\N',
    ],
    event: { userId: 'ada', timestamp: '2024-01-02T03:04:05.000Z' },
    valid: 2,
    notes: { no_zone: 2, null: 1 },
  },
  'mysql --batch, with NULL as a user': {
    name: 'batch.tsv',
    content: 'user_id\tevent\tplan\nNULL\tPaid\tNULL\nada\tPaid\tpro\n',
    options: ['--type=track', '--map=userId=user_id', '--rest', '--set=anonymousId=import'],
    event: { event: 'Paid', anonymousId: 'import', properties: { plan: 'NULL' } },
    valid: 2,
    notes: { no_id: 1, null_word: 1, no_timestamp: 2 },
  },
  'Excel in German: semicolons, decimal comma, day first': {
    name: 'de.csv',
    content: '\uFEFFuserId;event;timestamp;Betrag;bezahlt\r\nada;Kauf;02.01.2024 03:04;1.234,50;WAHR\r\n',
    options: [
      '--type=track',
      '--date=dd.mm.yyyy',
      '--decimal=,',
      '--map=properties.total:number=Betrag,properties.paid:boolean=bezahlt',
    ],
    event: { timestamp: '2024-01-02T03:04:00.000Z', properties: { total: 1234.5, paid: true } },
    valid: 1,
    notes: { no_zone: 1 },
  },
  'Excel in German, saved in the encoding of Windows': {
    name: 'de-ansi.csv',
    content: Buffer.from('userId;event\r\nj\xfcrgen;K\xe4ufe\r\n', 'latin1'),
    options: ['--type=track', '--encoding=windows-1252'],
    event: { userId: 'jürgen', event: 'Käufe' },
    valid: 1,
    notes: { no_timestamp: 1 },
  },
  'Excel in French: sep=, narrow spaces, day first with slashes': {
    name: 'fr.csv',
    content: 'sep=;\r\nuserId;event;timestamp;montant\r\nada;Achat;02/01/2024;1\u202f234,50\r\n',
    options: ['--type=track', '--date=dd/mm/yyyy', '--decimal=,', '--map=properties.total:number=montant'],
    event: { timestamp: '2024-01-02T00:00:00.000Z', properties: { total: 1234.5 } },
    valid: 1,
  },
  'Excel in English, for the Mac: CR alone, month first, AM and PM': {
    name: 'us.csv',
    content:
      'userId,event,timestamp,amount\rada,Sale,1/2/2024 3:04:05 PM,"1,234.50"\rbob,Sale,1/2/2024 12:00:00 AM,2\r',
    options: ['--type=track', '--date=m/d/yyyy', '--decimal=.', '--map=properties.total:number=amount'],
    event: { timestamp: '2024-01-02T15:04:05.000Z', properties: { total: 1234.5 } },
    valid: 2,
    notes: { no_zone: 2 },
  },
  'Unicode text of Excel: UTF-16 with tabs': {
    name: 'unicode.txt',
    content: utf16('userId\tevent\tplan\r\nada\tAchèvement\tpro\r\n'),
    options: ['--format=csv', '--type=track', '--rest'],
    event: { event: 'Achèvement', properties: { plan: 'pro' } },
    valid: 1,
    notes: { no_timestamp: 1 },
  },
  'ConvertTo-Json of PowerShell: UTF-16, indented, dates of .NET': {
    name: 'powershell.json',
    content: utf16(
      JSON.stringify(
        [{ type: 'track', userId: 'ada', event: 'Logon', timestamp: '/Date(1704164645123)/' }],
        null,
        4,
      ),
    ),
    options: [],
    event: { timestamp: '2024-01-02T03:04:05.123Z' },
    valid: 1,
  },
  'Export-Csv of PowerShell, with the line #TYPE': {
    name: 'powershell.csv',
    content: '#TYPE System.Management.Automation.PSCustomObject\r\n"userId","event"\r\n"ada","Logon"\r\n',
    options: ['--type=track', '--skip-lines=1'],
    event: { userId: 'ada', event: 'Logon' },
    valid: 1,
    notes: { no_timestamp: 1 },
  },
  'a file of Kinesis Firehose: equal objects without a line end': {
    name: 'firehose',
    content: '{"type":"track","userId":"ada","event":"A","timestamp":"2024-01-02T03:04:05Z"}'.repeat(3),
    options: [],
    event: { userId: 'ada' },
    valid: 3,
  },
  'objects over several lines, as jq prints them': {
    name: 'jq.json',
    content: JSON.stringify({ type: 'page', userId: 'ada', timestamp: '2024-01-02' }, null, 2)
      .concat('\n')
      .repeat(2),
    options: [],
    event: { type: 'page' },
    valid: 2,
  },
  'joined files: the header again, a row number without a name, spaces after the commas': {
    name: 'joined.csv',
    content: ', userId, event, note\n0, ada, Signed Up, "a, b"\n, userId, event, note\n1, bob, Left, c\n',
    options: ['--type=track', '--rest'],
    event: { userId: 'ada', event: 'Signed Up', properties: { note: 'a, b' } },
    valid: 2,
    notes: { header: 1, no_name: 2, no_timestamp: 2 },
  },
}

describe('a dry run reads what programs write, and counts what it changes or leaves out', () => {
  test.each(Object.entries(FILES))(
    '%s',
    async (_what, { name, content, options, event, valid, notes = {} }) => {
      const { code, stdout, stderr } = await run([
        'import',
        newFile(name, content),
        ...options,
        '--dry-run',
        '--json',
      ])

      const result = JSON.parse(stdout)
      expect([result.problems, result.delivered, code], stderr).toEqual([[], valid, 0])
      expect(result.example).toMatchObject(event)
      const counts: Record<string, number> = {}
      for (const { kind, count } of result.notes) counts[kind] = (counts[kind] ?? 0) + count
      expect(counts).toEqual(notes)
    },
  )
})

describe('what an import cannot read is refused with the option that helps', () => {
  const refusals: [what: string, name: string, content: string | Buffer, options: string[], hint: RegExp][] =
    [
      ['a title', 'a.csv', 'All events\n\nuserId;event\nada;A\n', ['--type=track'], /--skip-lines 2/],
      [
        'a title with padding',
        'a.csv',
        'Report,,\n,,\nuserId,event,x\nada,A,1\n',
        ['--type=track'],
        /--skip-lines 2/,
      ],
      [
        '#TYPE of PowerShell',
        'a.csv',
        '#TYPE A.B\n"userId","event"\n"ada","A"\n',
        ['--type=track'],
        /--skip-lines 1/,
      ],
      [
        'Windows-1252',
        'a.csv',
        Buffer.from('userId,event\nj\xfcrgen,A\n', 'latin1'),
        ['--type=track'],
        /--encoding windows-1252/,
      ],
      [
        'UTF-16 without a mark',
        'a.csv',
        Buffer.from('userId,event\nada,A\n', 'utf16le'),
        ['--type=track'],
        /--encoding utf-16le/,
      ],
      [
        'ids of a spreadsheet',
        'a.csv',
        'userId,event\n1.41362E+18,A\n',
        ['--type=track'],
        /column "userId".*as text/,
      ],
      [
        'ids of a German spreadsheet',
        'a.csv',
        'userId;event\n1,41362E+18;A\n',
        ['--type=track'],
        /column "userId".*as text/,
      ],
      [
        'ids as floats',
        'a.ndjson',
        '{"type":"track","event":"A","userId":1.41362e18}',
        [],
        /column "userId".*as text/,
      ],
      [
        'a decimal comma',
        'a.csv',
        'userId,event,properties.x:number\nada,A,"12,50"\n',
        ['--type=track'],
        /--decimal ,/,
      ],
      [
        'a price with its sign',
        'a.csv',
        'userId,event,properties.x:number\nada,A,$12.50\n',
        ['--type=track'],
        /take the currency out of the column, or leave out :number/,
      ],
      [
        'a price with its sign and a decimal comma',
        'a.csv',
        'userId;event;properties.x:number\nada;A;12,50 €\n',
        ['--type=track'],
        /--decimal ,; take the currency out/,
      ],
      [
        'an answer of the API of PostHog',
        'a.json',
        JSON.stringify(
          { next: null, results: [{ distinct_id: 'ada', event: 'A', properties: {} }] },
          null,
          1,
        ),
        ['--type=track', '--map=userId=distinct_id'],
        /a\.json:1: the events are in the list "results".*jq -c '\.results\[\]'/,
      ],
      [
        'a date with points',
        'a.csv',
        'userId,event,timestamp\nada,A,02.01.2024\n',
        ['--type=track'],
        /--date dd\.mm\.yyyy/,
      ],
      [
        'an unknown unit',
        'a.csv',
        'userId,event,timestamp\nada,A,1704164645123456\n',
        ['--type=track'],
        /timestamp:us/,
      ],
      [
        'an object as text',
        'a.ndjson',
        '{"type":"track","userId":"ada","event":"A","p":"{}"}',
        ['--map=properties=p'],
        /--map properties:json=p/,
      ],
      [
        'two columns of one name',
        'a.csv',
        'userId,event,x,x \nada,A,1,2\n',
        ['--type=track', '--rest'],
        /two columns are named "x"/,
      ],
      [
        'two columns for one field',
        'a.csv',
        'userId,event,event\nada,A,B\n',
        ['--type=track'],
        /two columns are named "event"/,
      ],
      [
        'a value and an object at one path',
        'a.csv',
        'userId,event,properties.a,properties.a.b\nada,A,1,2\n',
        ['--type=track'],
        /column "properties.a.b".*a value already/,
      ],
      [
        'a key twice',
        'a.ndjson',
        '{"type":"track","userId":"ada","event":"A","userId":"bob"}',
        [],
        /:1:44: the key "userId" is there twice/,
      ],
      [
        'large numbers, if asked',
        'a.ndjson',
        '{"type":"track","userId":"ada","event":"A","properties":{"n":9007199254740993}}',
        ['--large-numbers=refuse'],
        /column "properties.n".*--large-numbers text/,
      ],
      [
        'line ends of two kinds',
        'a.csv',
        'userId,event\ra,A\nb,B\n',
        ['--type=track'],
        /some lines end in CR alone/,
      ],
      [
        'no time',
        'a.csv',
        'userId,event,timestamp\na,A,null\n',
        ['--type=track'],
        /--null 'null' leaves it out/,
      ],
      [
        'a number as a time',
        'a.csv',
        'userId,event,timestamp\na,A,-5\n',
        ['--type=track'],
        /timestamp:s, :ms, :us or :ns/,
      ],
      [
        'quotes of MySQL',
        'a.csv',
        'userId,event\nada,"say \\"hi\\""\n',
        ['--type=track'],
        /a quote is written twice/,
      ],
    ]

  test.each(refusals)('%s', async (_what, name, content, options, hint) => {
    const { code, stderr } = await run(['import', newFile(name, content), ...options, '--dry-run'])

    expect(stderr).toMatch(hint)
    expect(code).not.toBe(0)
  })
})
