export {
  type AnalyticsOf,
  type PerRequestOptions,
  perRequest,
  type RequestOptions,
} from './workers/per-request.ts'
