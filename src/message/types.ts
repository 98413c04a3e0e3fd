import type {
  EventProperties,
  ExtraContext,
  GroupTraits,
  Id,
  Integrations,
  Timestamp,
  UserTraits,
} from './shapes.ts'

/** The kind of a message: the name of the call that made it. */
export type Kind = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/**
 * Who a message is about: `userId`, `anonymousId` or both. In an intersection it must come last: the compiler reports only
 * the first part that does not fit, and of this union it would name `anonymousId`, even if something else is missing.
 */
export type Identity =
  | {
      /** Your id for the user. */
      userId: Id
      /** An id for a visitor whose identity is not known. */
      anonymousId?: Id | undefined
    }
  | {
      /** Your id for the user. */
      userId?: Id | undefined
      /** An id for a visitor whose identity is not known. */
      anonymousId: Id
    }

/** Who a message is about, if a scope may say it instead. */
export interface ScopedIdentity {
  /** Your id for the user. Default: that of the scope. */
  userId?: Id | null | undefined
  /** An id for a visitor whose identity is not known. Default: that of the scope. */
  anonymousId?: Id | null | undefined
}

/** Any event name, with any properties: for a client without a map of events. */
// biome-ignore lint/suspicious/noExplicitAny: maps of interface types are assignable to `any` only
export type AnyEvents = Record<string, any>

/** The event names of a map of events. */
export type EventName<Events> = Extract<keyof Events, string>

/** Name and properties of one event. `undefined` in the map means that it has no properties. */
export type TypedEvent<Events, Name extends EventName<Events>> = string extends keyof Events
  ? {
      /** Name of the action: not empty. */
      event: string
      /** Properties of the event. Default: none. */
      properties?: EventProperties | null | undefined
    }
  : {
      /** Name of the action: one of those in the map of events. */
      event: Name
    } & TypedProperties<Events[Name]>

type TypedProperties<Properties> = [Properties] extends [undefined]
  ? { properties?: Record<string, never> | null | undefined }
  : Record<string, never> extends Properties
    ? { properties?: Properties | null | undefined }
    : { properties: Properties }

/** Fields of every call. A message with more than `maxMessageBytes` as JSON fails with `too_large`. */
export interface CommonParams {
  /** Facts about the message. Default: only the library, which is always added. */
  context?: ExtraContext | null | undefined
  /** Destination switches. Default: every destination is on. */
  integrations?: Integrations | null | undefined
  /** When it happened. May be in the past, to import history. Default: the time of the call. */
  timestamp?: Timestamp | null | undefined
  /**
   * Key for deduplication: 1 to 99 characters, unique for each event. The service drops a message whose id it has seen.
   * Default: a random UUID.
   */
  messageId?: string | null | undefined
}

/** The parameters of `identify`. */
export type IdentifyParams<Traits = UserTraits, Who = Identity> = CommonParams & {
  /** Facts about the user. Default: none. */
  traits?: Traits | null | undefined
} & Who

/** The parameters of `track`: with a map of events, one of its names and the properties of that event. */
export type TrackParams<
  Events = AnyEvents,
  Name extends EventName<Events> = EventName<Events>,
  Who = Identity,
> = CommonParams & TypedEvent<Events, Name> & Who

/** The parameters of `page`. */
export type PageParams<Who = Identity> = CommonParams & {
  /** Name of the page. */
  name?: string | null | undefined
  /** Category of the page; copied into `properties.category` too. */
  category?: string | null | undefined
  /** Properties of the page, such as `url`, `title`, `referrer` and `path`. Default: none. */
  properties?: EventProperties | null | undefined
} & Who

/** The parameters of `screen`. */
export type ScreenParams<Who = Identity> = CommonParams & {
  /** Name of the screen. */
  name?: string | null | undefined
  /** Category of the screen. */
  category?: string | null | undefined
  /** Properties of the screen. Default: none. */
  properties?: EventProperties | null | undefined
} & Who

/** The parameters of `group`. */
export type GroupParams<Traits = GroupTraits, Who = Identity> = CommonParams & {
  /** Your id for the company or team. */
  groupId: Id
  /** Facts about the group. Default: none. */
  traits?: Traits | null | undefined
} & Who

/** The parameters of `alias`. */
export type AliasParams = CommonParams & {
  /** The id of the user from now on. */
  userId: Id
  /** The id of the user until now. */
  previousId: Id
}

/** One message as it is sent. `timestamp` is ISO text; it is a `Date` where plugins and callbacks see it. */
export interface Message<Time = string> {
  /** The kind of the message. */
  type: Kind
  /** Key for deduplication. */
  messageId: string
  /** When it happened. */
  timestamp: Time
  /** Id of the user. */
  userId?: string | undefined
  /** Id of the anonymous visitor. */
  anonymousId?: string | undefined
  /** `alias`: the id of the user until now. */
  previousId?: string | undefined
  /** `group`: id of the company or team. */
  groupId?: string | undefined
  /** `track`: name of the action. */
  event?: string | undefined
  /** `page`, `screen`: name. */
  name?: string | undefined
  /** `page`, `screen`: category. */
  category?: string | undefined
  /** `track`, `page`, `screen`: properties. */
  properties?: EventProperties | undefined
  /** `identify`, `group`: traits. */
  traits?: (UserTraits & GroupTraits) | undefined
  /** Facts about the message, the library among them. */
  context: ExtraContext & { library: { name: string; version: string } }
  /** Destination switches. */
  integrations: Integrations
  /** The runtime of the library that made the message and, on Node.js, its version. */
  _metadata: { nodeVersion?: string; jsRuntime: string }
}

/** A message as plugins, callbacks and listeners see it: its `timestamp` is a `Date`. */
export type ContextEvent = Message<Date>

/** An event in a test of a plugin: everything but the kind may be left out. */
export type ContextInput = Partial<ContextEvent> & Pick<ContextEvent, 'type'>
