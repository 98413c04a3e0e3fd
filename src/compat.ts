export {
  CompatAnalytics as Analytics,
  CompatAnalytics as default,
  type CompatCallback,
  type CompatData,
  type CompatMessage,
  RudderAnalytics,
} from './compat/analytics.ts'
export { CompatError } from './compat/error.ts'
export type { AnalyticsNodeOptions, RudderOptions } from './compat/options.ts'
