import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newFile, newFolder, run, serve, startCollector } from './support.ts'

const plan = (content: unknown): string => newFile('plan.json', JSON.stringify(content, null, 2))

async function typeOf(schema: unknown): Promise<string> {
  const { code, stdout, stderr } = await run(['types', plan({ track: { Paid: schema } })])
  expect([code, stderr]).toEqual([0, ''])
  return stdout.slice(stdout.indexOf('export interface Events'))
}

const paid = (type: string): string => `export interface Events {\n  Paid: ${type}\n}\n`

describe('types', () => {
  test('events and traits have types with descriptions; for the parts that the plan leaves out, the types of the SDK are used', async () => {
    const path = plan({
      title: 'Shop',
      track: {
        'Order Completed': {
          description: 'Somebody has paid.',
          type: 'object',
          properties: {
            total: { type: 'number', description: 'In EUR.' },
            currency: { enum: ['EUR', 'CHF'], deprecated: true },
            lines: {
              type: 'array',
              items: {
                type: 'object',
                properties: { 'unit price': { type: 'integer' } },
                required: ['unit price'],
              },
            },
          },
          required: ['total'],
        },
        'Signed Up': {},
      },
      identify: { type: 'object', properties: { plan: { type: ['string', 'null'] } } },
    })

    const { code, stdout, stderr } = await run(['types', path])

    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toBe(`// Made by \`trackpost types\` from a tracking plan: change the plan, not this file.

export type { GroupTraits } from 'trackpost'

/**
 * Shop
 */
export interface Events {
  /**
   * Somebody has paid.
   */
  "Order Completed": {
    /**
     * In EUR.
     */
    total: number
    /**
     * @deprecated
     */
    currency?: ("EUR" | "CHF")
    lines?: {
      "unit price": number
    }[]
  }
  "Signed Up": { [k: string]: unknown }
}

export interface UserTraits {
  plan?: (string | null)
}
`)
    // With `VERBOSE`, a library logs to stdout. Its log must not be mixed with the types.
    expect((await run(['types', '-'], { input: readFileSync(path), env: { VERBOSE: '1' } })).stdout).toBe(
      stdout,
    )
  })

  test.each([
    ['a schema that allows anything', true, '{ [k: string]: unknown }'],
    ['any object', { type: 'object' }, '{ [k: string]: unknown }'],
    [
      'an object without properties',
      { type: 'object', additionalProperties: false },
      '{ [k: string]: never }',
    ],
    [
      'additional properties, if the schema allows them',
      { properties: { a: {} }, additionalProperties: true },
      '{\n    a?: unknown\n    [k: string]: unknown\n  }',
    ],
    ['a map', { additionalProperties: { type: 'number' } }, '{\n    [k: string]: number\n  }'],
    [
      'a required property without a schema',
      { properties: { a: { type: 'string' } }, required: ['b'] },
      '{\n    a?: string\n    b: unknown\n  }',
    ],
    [
      'conditions that types cannot express',
      { properties: { a: { not: { type: 'string' } } }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      '{\n    a?: unknown\n  }',
    ],
    [
      'a union',
      { oneOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { type: 'boolean' } } }] },
      '({\n    a?: 1\n  } | {\n    b?: boolean\n  })',
    ],
    [
      'tuples',
      { properties: { a: { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false } } },
      '{\n    a?: [string, number]\n  }',
    ],
  ])('the type for %s', async (_label, schema, type) => {
    expect(await typeOf(schema)).toBe(paid(type))
  })

  test('definitions become named types, even if they are recursive or have the name of a generated type', async () => {
    const types = await typeOf({
      properties: {
        from: { $ref: '#/$defs/postal%20address' },
        to: { $ref: '#/$defs/postal%20address', description: 'Where to.' },
        tree: { $ref: '#/$defs/Events' },
        again: { $ref: '#/$defs/alias' },
      },
      $defs: {
        'postal address': { properties: { city: { type: 'string' } } },
        Events: { properties: { children: { type: 'array', items: { $ref: '#/$defs/Events' } } } },
        alias: { $ref: '#/$defs/Events' },
      },
    })

    expect(types).toBe(`export interface Events {
  Paid: {
    from?: PostalAddress
    /**
     * Where to.
     */
    to?: PostalAddress
    tree?: EventsDefinition
    again?: EventsDefinition
  }
}

export interface PostalAddress {
  city?: string
}

export interface EventsDefinition {
  children?: EventsDefinition[]
}
`)
  })

  test('no text of a plan is executed as code', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the text of a plan
    const name = 'x"\n}; evil() //`${evil()}\u2028'
    const types = await typeOf({
      title: '*/ evil() {',
      tsType: 'string }; evil(); type X = {',
      properties: { [name]: { const: `"${name}`, tsEnumNames: ['evil'] }, constructor: { type: 'string' } },
    })

    expect(types).toContain(
      `${JSON.stringify(name)}?: ${JSON.stringify(`"${name}`)}\n    constructor?: string`,
    )
    expect(types).toContain('* * / evil() {')
    expect(types).not.toContain('string }')
  })
})

describe('a plan that cannot become types is reported with line and column, and nothing is written', () => {
  const track = (schema: unknown): string => JSON.stringify({ track: { Paid: schema } }, null, 2)

  test.each([
    ['no JSON', '{\n  "track": {\n    "Paid": {,}\n', ':3:14: expected a value, but found ","'],
    ['an empty file', '', ':1:1: expected a value, but the plan ends'],
    [
      'an unknown type',
      track({ properties: { 'a/b': { type: 'text' } } }),
      ':6:19: /track/Paid/properties/a~1b/type: must be equal to one of the allowed values: array, boolean, integer, null, number, object, string',
    ],
    [
      'properties that are not an object',
      track({ type: 'string' }),
      ':4:15: /track/Paid/type: properties and traits are an object: expected "object"',
    ],
    [
      'a duplicate name',
      '{ "track": {\n "Paid": {},\n "Paid": {} } }',
      ':3:2: "Paid" is there twice, and only the last one would count; remove or rename one',
    ],
    [
      'a reference without a target',
      track({ properties: { a: { $ref: '#/$defs/A' } } }),
      ':6:19: /track/Paid/properties/a/$ref: "#/$defs/A" leads nowhere: there is no such part of the schema',
    ],
    [
      'a reference to another document',
      track({ properties: { a: { $ref: 'http://127.0.0.1/a.json' } } }),
      ':6:19: /track/Paid/properties/a/$ref: "http://127.0.0.1/a.json" does not lead into this schema; expected "#/$defs/..."',
    ],
    [
      'circular references',
      track({ $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } }),
      ':4:15: /track/Paid/$ref: "#/$defs/A" leads back to itself',
    ],
    [
      '__proto__',
      '{ "track": { "Paid": { "properties": { "__proto__": {} } } } }',
      ':1:53: /track/Paid/properties/__proto__: __proto__ cannot be the name of a property; rename it',
    ],
    [
      'hasOwnProperty',
      track({ properties: { hasOwnProperty: {} } }),
      ':5:27: /track/Paid/properties/hasOwnProperty: hasOwnProperty cannot be the name of a property; rename it',
    ],
    [
      'an event with a reserved name',
      '{ "track": { "hasOwnProperty": {} } }',
      ':1:32: /track/hasOwnProperty: cannot be the name of an event',
    ],
  ])('%s', async (_label, content, message) => {
    const path = newFile('plan.json', content)
    const { code, stdout, stderr } = await run(['types', path, '--out', join(dirname(path), 'events.ts')])

    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.startsWith(`trackpost: ${path}:`)).toBe(true)
    expect(stderr).toContain(message)
    expect(stderr.split('\n').length).toBe(2)
    expect(readdirSync(dirname(path))).toEqual(['plan.json'])
  })

  test.each([
    [['types'], "missing required argument 'plan'"],
    [['types', '/nowhere.json'], 'plan /nowhere.json: there is no such file'],
    [['types', '.'], 'plan .: it is a folder'],
    [['types', 'plan.json', '--output', 'events.ts'], "unknown option '--output'"],
    [['types', 'plan.json', '--check'], '--check: add --out <path>, the file to check'],
  ])('an error of the command line has no position: %j', async (args, message) => {
    const { code, stdout, stderr } = await run(args)

    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`trackpost: ${message}`)
  })

  test('a plan that is not UTF-8 is an error', async () => {
    const { code, stderr } = await run([
      'types',
      newFile('plan.json', Buffer.from('{"title":"Größe"}', 'latin1')),
    ])

    expect([code, stderr]).toEqual([2, expect.stringContaining('this is not UTF-8')])
  })
})

describe('--out and --check', () => {
  const one = { track: { Paid: { properties: { total: { type: 'number' } } } } }

  test('--check accepts a file that matches the plan, and refuses one that differs or is missing', async () => {
    const folder = newFolder()
    const [path, out] = [join(folder, 'plan.json'), join(folder, 'my events.ts')]
    writeFileSync(path, JSON.stringify(one))
    const args = ['types', path, '--out', out]

    const missing = await run([...args, '--check'])
    const written = await run(args)
    const same = await run([...args, '--check'])
    // On Windows, Git may check the file out with CRLF line ends.
    writeFileSync(out, readFileSync(out, 'utf8').replaceAll('\n', '\r\n'))
    const { mtimeMs } = statSync(out)
    expect([await run([...args, '--check']), await run(args)]).toMatchObject([{ code: 0 }, { code: 0 }])
    expect(statSync(out).mtimeMs).toBe(mtimeMs)
    writeFileSync(path, JSON.stringify(one).replace('number', 'string'))
    const other = await run([...args, '--check'])

    const remedy = 'the command without --check writes it again\n'
    expect(missing).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `trackpost: ${out}: there is no such file; ${remedy}`,
    })
    expect(written).toMatchObject({ code: 0, stdout: `${out}: 1 event\n`, stderr: '' })
    expect(same).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(other).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `trackpost: ${out}: it does not match the plan; ${remedy}`,
    })
    expect((await run(args)).code).toBe(0)
    expect(readFileSync(out, 'utf8')).toContain('total?: string')
    expect(readdirSync(folder).sort()).toEqual(['my events.ts', 'plan.json'])
  })

  test('a file that this command did not write is not overwritten', async () => {
    const path = plan(one)
    const content = readFileSync(path, 'utf8')

    const { code, stderr } = await run(['types', path, '--out', path])

    expect([code, stderr]).toEqual([2, expect.stringContaining('was not made by this command')])
    expect(readFileSync(path, 'utf8')).toBe(content)
  })

  test('a missing folder and a folder without write permission are errors', async () => {
    const [path, locked] = [plan(one), join(newFolder(), 'locked')]
    mkdirSync(locked)
    chmodSync(locked, 0o500)

    const absent = await run(['types', path, '--out', '/nowhere/events.ts'])
    const refused = await run(['types', path, '--out', join(locked, 'events.ts')])

    expect([absent.code, absent.stderr]).toEqual([
      1,
      'trackpost: /nowhere/events.ts cannot be written: there is no such file\n',
    ])
    if (process.getuid?.() !== 0)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('no permission') })
  })
})

describe('a plan from a URL', () => {
  test('a collector gives the plan of the events that it has received', async () => {
    const collector = await startCollector('--admin-token', 'secret-token')
    await collector.post('/v1/track', {
      writeKey: 'k',
      userId: 'ada',
      event: 'Paid',
      properties: { total: 5 },
    })
    const out = join(newFolder(), 'events.ts')

    const refused = await run(['types', collector.url])
    const written = await run(['types', collector.url, '--out', out], {
      env: { TRACKPOST_ADMIN_TOKEN: 'secret-token' },
    })

    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('set TRACKPOST_ADMIN_TOKEN')])
    expect([written.code, written.stderr]).toEqual([0, ''])
    expect(readFileSync(out, 'utf8')).toMatch(/Paid: \{\s+total: number;?\s+\}/)
  })

  test('a URL with a path is fetched as it is, and its mistakes have a line; the token is not sent unasked', async () => {
    const tokens: unknown[] = []
    const url = await serve((request, response) => {
      tokens.push(request.headers.authorization)
      if (request.url === '/plans/shop.json') response.end('{\n  "track": { "Paid": {} }\n}')
      else if (request.url === '/broken') response.end('{\n  "track": []\n}')
      else response.writeHead(404).end()
    })
    const options = { env: { TRACKPOST_ADMIN_TOKEN: 'secret-token' } }

    const good = await run(['types', `${url}/plans/shop.json`], options)
    const broken = await run(['types', `${url}/broken`], options)
    const missing = await run(['types', `${url}/missing`], options)

    expect(good.stdout).toContain('Paid:')
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining(`${url}/broken:2:12: `)])
    expect([missing.code, missing.stderr]).toEqual([1, `trackpost: ${url}/missing responds with 404\n`])
    expect(tokens).toEqual([undefined, undefined, undefined])
  })

  test('a collector that is not there is an error', async () => {
    const { code, stderr } = await run(['types', 'http://127.0.0.1:9'])

    expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot be reached: .*Is there a collector\?/)])
  })
})
