import { compile } from 'json-schema-to-typescript'
import type { PlanFile, Schema } from './plan-file.ts'
import { SchemaShapes, type Shape, TYPE_NAMES } from './schema-shapes.ts'

/** The first line of every generated file. A file that begins with this line may be overwritten. */
const HEADER = '// Made by `trackpost types` from a tracking plan: change the plan, not this file.'

export interface PlanTypes {
  readonly text: string
  readonly events: number
}

/**
 * Generates the types of a plan, for `new Analytics<Events, UserTraits, GroupTraits>()`. The same plan always gives the same
 * text.
 *
 * @throws UsageError with line and column, for a part of the plan that TypeScript cannot express.
 */
export async function createTypes(file: PlanFile): Promise<PlanTypes> {
  const { track = {}, identify, group, title, description } = file.plan
  const names = Object.keys(track)
  const shapes = names.map((name) => {
    // json-schema-to-typescript would silently leave out an event of this name.
    if (name === 'hasOwnProperty') throw file.refusal(['track', name], 'cannot be the name of an event')
    return [name, shapeOf(file, ['track', name], track[name] as Schema)] as const
  })
  const text = description ?? title
  const events: Shape = {
    title: TYPE_NAMES.events,
    ...(typeof text === 'string' && { description: text }),
    type: 'object',
    properties: Object.fromEntries(shapes),
    required: names,
    additionalProperties: false,
  }
  const traits = [
    [TYPE_NAMES.user, 'identify', identify],
    [TYPE_NAMES.group, 'group', group],
  ] as const
  const planned = traits.flatMap(([name, kind, schema]) =>
    schema === undefined
      ? []
      : [[name, Object.assign(shapeOf(file, [kind], schema), { title: name })] as const],
  )
  const properties = { [TYPE_NAMES.events]: events, ...Object.fromEntries(planned) }
  const code = await compile(
    { title: TYPE_NAMES.root, type: 'object', properties, required: Object.keys(properties) },
    TYPE_NAMES.root,
    { bannerComment: '', format: false, additionalProperties: false, ignoreMinAndMaxItems: true },
  )
  const absent = traits.filter(([, , schema]) => schema === undefined).map(([name]) => name)
  const defaults =
    absent.length === 0 ? [] : [`export type { ${absent.sort().join(', ')} } from 'trackpost'`, '']
  const lines = [HEADER, '', ...defaults, layOut(withoutRoot(code))]
  return { text: `${lines.join('\n')}\n`, events: names.length }
}

function shapeOf(file: PlanFile, path: readonly string[], schema: Schema): Shape {
  return new SchemaShapes(file, path, schema).make()
}

/** Removes the type of the whole plan. Only because of that type, the library names each part once. */
function withoutRoot(code: string): string {
  return code.replace(/^export interface Plan \{\n(?:\w+: \w+\n)*\}\n/m, '')
}

/** Formats the code. The library would need Prettier for this, which is not bundled. */
function layOut(code: string): string {
  let depth = 0
  let isComment = false
  const lines: string[] = []
  for (const raw of code.replace(/\{\n\n\}/g, '{}').split('\n')) {
    const line = raw.trimEnd()
    if (line === '') continue
    if (!isComment && line.startsWith('}')) depth--
    const isDeclared = depth === 0 && !isComment && /^(?:\/\*\*|export )/.test(line)
    if (isDeclared && lines.length > 0 && !/^ \*\/$/.test(lines.at(-1) as string)) lines.push('')
    lines.push(`${'  '.repeat(depth)}${line}`)
    if (line === '/**') isComment = true
    else if (line === ' */') isComment = false
    else if (!isComment && line.endsWith('{')) depth++
  }
  return lines.join('\n')
}
