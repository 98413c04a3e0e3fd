import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Context } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { mistake, requireOptions } from './options.ts'
import { type Verdict, validate } from './validation.ts'
import { listViolations, PlanViolationError } from './violations.ts'

/** The schema of the properties for each event name of a plan. The output of a schema is an object or `undefined`. */
export type PlanSchemas = Readonly<Record<string, StandardSchemaV1<unknown, object | undefined>>>

/** Options of {@link trackingPlan}. */
export interface TrackingPlanOptions {
  /**
   * For an event whose properties do not follow their schema. `report`: `warning` listeners are told, and the event is sent. `drop`:
   * it fails with the code `plugin`. Default: `report`.
   */
  onViolation?: 'report' | 'drop' | undefined
  /** For an event that is not in the plan. `allow`: it is sent; `report` and `drop` as above. Default: `allow`. */
  unknownEvents?: 'allow' | 'report' | 'drop' | undefined
}

/** A `before` plugin that checks events against a plan. */
export interface TrackingPlan<Schemas extends PlanSchemas = PlanSchemas> extends Plugin {
  /** The schemas from which the plan was made. */
  readonly schemas: Schemas
}

/** The type of the events of a plan, for `new Analytics<Events>(...)`: maps each event name to the input type of its schema. */
export type InferEvents<Plan extends { readonly schemas: PlanSchemas }> = {
  [Name in keyof Plan['schemas']]: StandardSchemaV1.InferInput<Plan['schemas'][Name]>
}

const CHOICES = {
  onViolation: ['report', 'drop'],
  unknownEvents: ['allow', 'report', 'drop'],
} as const

/**
 * Makes a `before` plugin that checks the properties of each `track` event against a schema at run time. The output of the
 * schema is sent. A schema that throws counts as a violation. An asynchronous one must settle within 5 s, as every handler.
 *
 * @param schemas Maps each event name to a schema, from any library that implements Standard Schema. An event without
 * properties is checked as `{}` and, if that is not valid, as `undefined`.
 * @throws TypeError when an option is invalid.
 * @example
 * const plan = trackingPlan({ 'Order Completed': z.object({ total: z.number() }) }, { onViolation: 'drop' })
 * const analytics = new Analytics<InferEvents<typeof plan>>({ writeKey })
 * await analytics.register(plan)
 */
export function trackingPlan<Schemas extends PlanSchemas>(
  schemas: Schemas,
  options: TrackingPlanOptions = {},
): TrackingPlan<Schemas> {
  requireOptions('trackingPlan', options, Object.keys(CHOICES))
  const { onViolation = 'report', unknownEvents = 'allow' } = options
  const name = 'tracking-plan'
  for (const [option, value] of Object.entries({ onViolation, unknownEvents })) {
    const choices: readonly string[] = CHOICES[option as keyof typeof CHOICES]
    if (!choices.includes(value))
      throw mistake('trackingPlan', option, `one of '${choices.join("', '")}'`, value)
  }
  const byEvent = new Map<string, StandardSchemaV1>(Object.entries(schemas))

  const refuse = (ctx: Context, error: PlanViolationError, action: 'report' | 'drop'): void => {
    if (action === 'drop') ctx.cancel(error)
    ctx.report(name, error)
  }
  const judge = (ctx: Context, event: string, verdict: Verdict): void => {
    if (verdict.state !== 'valid') refuse(ctx, errorOf(event, verdict), onViolation)
    else if (verdict.properties !== undefined) ctx.event.properties = verdict.properties
  }

  return {
    name,
    type: 'before',
    schemas,
    track(ctx) {
      const event = ctx.event.event ?? ''
      const schema = byEvent.get(event)
      if (schema === undefined) {
        if (unknownEvents === 'allow') return undefined
        return refuse(
          ctx,
          new PlanViolationError(String(event), 'is not in the tracking plan', []),
          unknownEvents,
        )
      }
      const verdict = validate(schema, ctx.event.properties)
      if (verdict instanceof Promise) return verdict.then((late) => judge(ctx, event, late))
      return judge(ctx, event, verdict)
    },
  }
}

function errorOf(event: string, verdict: Exclude<Verdict, { state: 'valid' }>): PlanViolationError {
  if (verdict.state === 'failed') {
    return new PlanViolationError(event, 'could not be checked: its schema failed', [], verdict.cause)
  }
  const { violations } = verdict
  const message = `does not follow the tracking plan: ${listViolations(violations)}`
  return new PlanViolationError(event, message, violations)
}
