/** The six kinds of message, in the order of the specification. */
export const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

export type Kind = (typeof KINDS)[number]

/** A user's or anonymous visitor's id. Finite numbers and BigInts are sent as their decimal string. */
export type Id = string | number | bigint

/** When it happened: a `Date`, ISO-8601 text, or milliseconds since the epoch. */
export type Timestamp = Date | string | number

/** Destination switches by name: `All: false` turns off all but those set `true`. @see spec.md, section 2 */
export type Integrations = { [destination: string]: boolean | Record<string, unknown> | undefined }

/** Facts about the message. `direct: true` makes the service take the caller's own IP address. */
export interface ExtraContext {
  active?: boolean | undefined
  direct?: boolean | undefined
  groupId?: Id | undefined
  ip?: string | undefined
  locale?: string | undefined
  timezone?: string | undefined
  userAgent?: string | undefined
  traits?: UserTraits | undefined
  [fact: string]: unknown
}

/** Free-form; the named ones are the standard traits of a user. */
export interface UserTraits {
  age?: number | undefined
  avatar?: string | undefined
  createdAt?: Timestamp | undefined
  email?: string | undefined
  firstName?: string | undefined
  id?: string | undefined
  lastName?: string | undefined
  name?: string | undefined
  phone?: string | undefined
  title?: string | undefined
  username?: string | undefined
  website?: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a value of an interface type is assignable to `any` only
  [trait: string]: any
}

/** Free-form; the named ones are the standard traits of a group. */
export interface GroupTraits {
  createdAt?: Timestamp | undefined
  email?: string | undefined
  employees?: string | number | undefined
  id?: string | undefined
  industry?: string | undefined
  name?: string | undefined
  plan?: string | undefined
  website?: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a value of an interface type is assignable to `any` only
  [trait: string]: any
}

/** Free-form properties of an event, a page or a screen. */
// biome-ignore lint/suspicious/noExplicitAny: a value of an interface type is assignable to `any` only
export type EventProperties = Record<string, any>

/** At least one of the two. */
export type Identity =
  | { userId: Id; anonymousId?: Id | undefined }
  | { userId?: Id | undefined; anonymousId: Id }

/** What every kind takes. */
export interface CommonParams {
  context?: ExtraContext | null | undefined
  integrations?: Integrations | null | undefined
  /** Default: the moment of the call. May be in the past, to import history. */
  timestamp?: Timestamp | null | undefined
  /** Default: a random UUID. Fewer than 100 characters; the service drops an id that it has seen. */
  messageId?: string | null | undefined
}

export type IdentifyParams = Identity & CommonParams & { traits?: UserTraits | null | undefined }

export type TrackParams = Identity &
  CommonParams & { event: string; properties?: EventProperties | null | undefined }

export type PageParams = Identity &
  CommonParams & {
    name?: string | null | undefined
    /** Copied into `properties.category` too. */
    category?: string | null | undefined
    properties?: EventProperties | null | undefined
  }

export type ScreenParams = Identity &
  CommonParams & {
    name?: string | null | undefined
    category?: string | null | undefined
    properties?: EventProperties | null | undefined
  }

export type GroupParams = Identity & CommonParams & { groupId: Id; traits?: GroupTraits | null | undefined }

export type AliasParams = CommonParams & { userId: Id; previousId: Id }

/** One message as it is sent. `timestamp` is a `Date` where plugins and callbacks see it. */
export interface Message<Time = string> {
  type: Kind
  messageId: string
  timestamp: Time
  userId?: string | undefined
  anonymousId?: string | undefined
  previousId?: string | undefined
  groupId?: string | undefined
  event?: string | undefined
  name?: string | undefined
  category?: string | undefined
  properties?: EventProperties | undefined
  traits?: (UserTraits & GroupTraits) | undefined
  context: ExtraContext & { library: { name: string; version: string } }
  integrations: Integrations
  _metadata: { nodeVersion?: string; jsRuntime: string }
}
