export { type RedactOptions, redact } from './plugins/redact.ts'
export { type SampleOptions, sample } from './plugins/sample.ts'
export {
  type InferEvents,
  type PlanSchemas,
  type TrackingPlan,
  type TrackingPlanOptions,
  trackingPlan,
} from './plugins/tracking-plan.ts'
export { PlanViolationError, type Violation, violationsOf } from './plugins/violations.ts'
