import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { RE2JS } from 're2js'
import { isNamed, keyOf } from '../event-key.ts'
import { findJsonError, positionOf } from '../json/json-error.ts'
import type { Violation } from '../record.ts'
import { BY_KIND, findPlanMistake, NAMED, type Path, pointer, unescaped } from './mistake.ts'

type Schema = Record<string, unknown> | boolean

/** A tracking plan as it is written in a file: one JSON Schema for the properties or traits of each event. */
export interface TrackingPlanFile {
  $schema?: string
  title?: string
  /** If false, an event whose name is not listed violates the plan. Default true. */
  additionalEvents?: boolean
  track?: Record<string, Schema>
  page?: Record<string, Schema>
  screen?: Record<string, Schema>
  /** Schema of the traits. */
  identify?: Schema
  group?: Schema
}

const MAX_VIOLATIONS = 20

export interface PlannedMessage {
  properties?: unknown
  traits?: unknown
}

/** The message says where the mistake is. */
export class PlanError extends Error {
  override readonly name = 'PlanError'
  readonly path: Path

  constructor(message: string, path: Path = []) {
    super(message)
    this.path = path
  }
}

/** @throws PlanError for an unknown key or an invalid schema. The message names the event of the schema. */
export class TrackingPlan {
  readonly title: string
  readonly #allowsOthers: boolean
  readonly #byKey = new Map<string, ValidateFunction>()

  constructor(file: TrackingPlanFile) {
    const ajv = new Ajv2020({
      allErrors: true,
      strict: false,
      validateFormats: true,
      code: { regExp: linearPattern },
    })
    formats(ajv)
    ajv.addFormat('url', (text: string) => URL.canParse(text) && /^(?:https?|ftp):\/\//i.test(text))
    const mistake = findPlanMistake(ajv, file)
    if (mistake !== undefined)
      throw new PlanError(`${pointer(mistake.path)}: ${mistake.message}`, mistake.path)
    this.title = file.title ?? 'Tracking plan'
    this.#allowsOthers = file.additionalEvents ?? true
    for (const kind of NAMED) {
      for (const [name, schema] of Object.entries(file[kind] ?? {})) this.#add(ajv, [kind, name], schema)
    }
    for (const kind of BY_KIND) if (file[kind] !== undefined) this.#add(ajv, [kind], file[kind])
  }

  #add(ajv: Ajv2020, at: Path, schema: Schema): void {
    const key = at.join(':')
    try {
      this.#byKey.set(key, ajv.compile(schema))
    } catch (cause) {
      throw new PlanError(`${key}: ${(cause as Error).message}`, at)
    }
  }

  /** For example `track:Order Completed` and `identify`, as in the catalogue of the page. */
  get keys(): string[] {
    return [...this.#byKey.keys()]
  }

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  check(kind: string, name: string | null, message: PlannedMessage): Violation[] {
    const validate = this.#byKey.get(keyOf(kind, name))
    if (validate === undefined) {
      if (this.#allowsOthers || !isNamed(kind)) return []
      return [
        { path: kind === 'track' ? 'event' : 'name', keyword: 'unplanned', message: 'is not in the plan' },
      ]
    }
    const root = isNamed(kind) ? 'properties' : 'traits'
    if (validate(message[root] ?? {})) return []
    return (validate.errors ?? []).slice(0, MAX_VIOLATIONS).map((error) => violation(root, error))
  }
}

/**
 * Compiles a pattern of a plan with RE2, whose time grows only linearly with the text: with a `RegExp`, one event could block the
 * process for ever. The `url` format of the library is replaced for the same reason.
 *
 * @throws for what RE2 lacks: references back, looking ahead and behind.
 */
function linearPattern(pattern: string): { test(text: string): boolean } {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (cause) {
    throw new Error(
      `the pattern ${JSON.stringify(pattern)} is not in the syntax of RE2 (${(cause as Error).message})`,
    )
  }
}
/** Only for validators that are written to files, which a plan is not; the type demands it. */
linearPattern.code = 'linearPattern'

function violation(root: string, { instancePath, keyword, message, params }: ErrorObject): Violation {
  const keys = instancePath.split('/').slice(1)
  const missing = params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty']
  if (missing !== undefined) keys.push(String(missing))
  const path = [root, ...keys.map((key) => unescaped(key))].join('.')
  return { path, keyword, message: keyword === 'required' ? 'is missing' : (message ?? keyword) }
}

/**
 * @throws PlanError with a message of one line when the file cannot be read, is not JSON, or has an invalid schema. If the file
 * can be read, the message has the line and column of the mistake.
 */
export function loadPlan(path: string): TrackingPlan {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new PlanError(`${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`)
  }
  const file = parse(text, path)
  try {
    return new TrackingPlan(file)
  } catch (cause) {
    if (!(cause instanceof PlanError)) throw cause
    const { line, column } = positionOf(text, cause.path)
    throw new PlanError(`${path}:${line}:${column}: ${cause.message}`)
  }
}

function parse(text: string, path: string): TrackingPlanFile {
  try {
    return JSON.parse(text) as TrackingPlanFile
  } catch (cause) {
    const found = findJsonError(text)
    if (found === undefined) throw cause
    const { line, column, message } = found
    throw new PlanError(`${path}:${line}:${column}: ${message.replace('the body', 'the plan')}`)
  }
}
