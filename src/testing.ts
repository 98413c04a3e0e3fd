export type { AsymmetricMatcher } from './testing/differences.ts'
export { type MatcherResult, matchers, type TrackpostMatchers } from './testing/matchers.ts'
export type {
  AliasMessage,
  AnyFilter,
  AsJSON,
  FieldsOf,
  GroupMessage,
  IdentifyMessage,
  KindFilter,
  MessageOfKind,
  PartOf,
  TestMessage,
  TrackFilter,
  TrackMessage,
  ViewMessage,
} from './testing/messages.ts'
export type { RequestFailure } from './testing/service.ts'
export {
  createTestClient,
  type TestClient,
  type TestClientSettings,
  type TestFailure,
  type WaitOptions,
} from './testing/test-client.ts'
