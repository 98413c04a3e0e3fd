// The entry point `trackpost/scope`. It needs `node:async_hooks`, which not every runtime has.
export {
  type AnyRequest,
  type RequestScope,
  type RequestScopeOptions,
  requestScope,
} from './scope/request.ts'
export { currentScope, runWithScope } from './scope/run.ts'
export type { TrustProxy } from './scope/trust.ts'
