export {
  type AnalyticsNodeOptions,
  type AxiosLike,
  CompatAnalytics as Analytics,
  CompatAnalytics as default,
  type CompatCallback,
  type CompatData,
  type CompatMessage,
  RudderAnalytics,
  type RudderOptions,
} from './compat/analytics.ts'
export { CompatError } from './compat/error.ts'
