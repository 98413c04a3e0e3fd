// A separate entry point, because not every runtime has `node:async_hooks`.
export {
  type AnyRequest,
  type RequestScope,
  type RequestScopeOptions,
  requestScope,
} from './scope/request.ts'
export { currentScope, runWithScope } from './scope/run.ts'
