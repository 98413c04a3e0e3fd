import type { Message } from '../record.ts'
import type { NewEvent } from '../store/ports.ts'
import type { TrackingPlan } from './plan.ts'

/** Notes on accepted events in which ways they are not as planned. */
export function markViolations(events: readonly NewEvent[], plan: TrackingPlan): NewEvent[] {
  return events.map((event) => {
    if (event.reason !== null || event.kind === null || event.body === null) return event
    const violations = plan.check(event.kind, event.name, JSON.parse(event.body) as Message)
    return violations.length === 0 ? event : { ...event, violations }
  })
}
