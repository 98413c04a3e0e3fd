import { text as textOf } from 'node:stream/consumers'
import { Ajv2020 } from 'ajv/dist/2020.js'
// The imported modules are bundled into the package, since they have no dependencies.
import { findJsonError, position, positionOf } from '../../../collector/src/json/json-error.ts'
import { findPlanMistake, type Path, pointer } from '../../../collector/src/plan/mistake.ts'
import { UsageError } from '../errors.ts'
import { decode, NOT_UTF8 } from '../import/utf8.ts'
import { printable, quoted } from '../output/text.ts'
import { repeatedKey } from '../settings/exact-json.ts'
import { readTextFile } from '../settings/text-file.ts'
import { fetchPlan, isAddress } from './fetch-plan.ts'

/** A JSON Schema of draft 2020-12. */
export type Schema = boolean | { readonly [keyword: string]: unknown }

/** A tracking plan in the format of the collector: one JSON Schema for the properties or traits of each event. */
export interface TrackingPlan {
  readonly title?: string
  readonly description?: string
  readonly track?: Readonly<Record<string, Schema>>
  readonly identify?: Schema
  readonly group?: Schema
}

/** A plan whose schemas are valid. */
export interface PlanFile {
  readonly plan: TrackingPlan
  /** Creates an error with the line, the column and the JSON Pointer of a part of the plan. */
  refusal(path: Path, message: string): UsageError
}

/**
 * Reads a tracking plan from a file, from stdin for `-`, or from a URL.
 *
 * @param adminToken For a collector that requires one.
 * @throws UsageError when the plan cannot be read, is not JSON, has a key twice, or has an invalid JSON Schema.
 */
export async function readPlanFile(path: string, adminToken?: string): Promise<PlanFile> {
  const name = path === '-' ? 'stdin' : printable(path)
  const text = isAddress(path) ? await fetchPlan(path, adminToken) : await readText(path, name)
  const plan = parse(text, name)
  const refusal = (at: Path, message: string): UsageError => {
    const { line, column } = positionOf(text, at)
    return new UsageError(`${name}:${line}:${column}: ${printable(`${pointer(at)}: ${message}`)}`)
  }
  const repeated = repeatedKey(text)
  if (repeated !== undefined) {
    const { line, column } = position(text, repeated.offset)
    throw new UsageError(
      `${name}:${line}:${column}: ${quoted(repeated.key)} is there twice, and only the last one would count; remove or rename one`,
    )
  }
  // Formats (`"format": "date"`) do not change the generated types.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
  const mistake = findPlanMistake(ajv, plan)
  if (mistake !== undefined) throw refusal(mistake.path, mistake.message)
  return { plan: plan as TrackingPlan, refusal }
}

async function readText(path: string, name: string): Promise<string> {
  if (path !== '-') return readTextFile(path, 'plan')
  const text = decode(Buffer.from(await textOf(process.stdin)))
  if (text === undefined) throw new UsageError(`${name}: ${NOT_UTF8.message}`)
  return text.replace(/^\uFEFF/, '')
}

/** @throws UsageError with the line and column of the mistake. */
function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const found = findJsonError(text)
    if (found === undefined) throw cause
    const message = printable(found.message.replace('the body', 'the plan'))
    throw new UsageError(`${name}:${found.line}:${found.column}: ${message}`)
  }
}
