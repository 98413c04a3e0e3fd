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
 * `userId`, `anonymousId` or both. An empty id is none. In an intersection, this type must come last: otherwise the compiler reports
 * a missing `anonymousId` for an error in any other field.
 */
export type Identity =
  | {
      /** Your id for the user. An event without `userId` and `anonymousId` fails with `invalid`. */
      userId: Id
      /** An id for a visitor whose identity is not known, for example from a cookie. Default: none. */
      anonymousId?: Id | undefined
    }
  | {
      /** Your id for the user. Default: none. */
      userId?: Id | undefined
      /** An id for a visitor whose identity is not known, for example from a cookie. */
      anonymousId: Id
    }

/** Who a message is about, for calls on a scope, which may have the ids already. */
export interface ScopedIdentity {
  /** Your id for the user. Default, also for an empty id: the id of the scope. */
  userId?: Id | null | undefined
  /** An id for a visitor whose identity is not known. Default, also for an empty id: the id of the scope. */
  anonymousId?: Id | null | undefined
}

/** The map of events of a client without declared events: any name, with any properties. */
// biome-ignore lint/suspicious/noExplicitAny: maps of interface types are assignable only to `any`
export type AnyEvents = Record<string, any>

/** The event names of a map of events. */
export type EventName<Events> = Extract<keyof Events, string>

/** The name and the properties of one event. `undefined` in the map of events means that the event has no properties. */
export type TypedEvent<Events, Name extends EventName<Events>> = string extends keyof Events
  ? {
      /** Name of the action; not empty. */
      event: string
      /** Properties of the event. Default: none. */
      properties?: EventProperties | null | undefined
    }
  : {
      /** Name of the action: one of the names in the map of events. */
      event: Name
    } & TypedProperties<Events[Name]>

type TypedProperties<Properties> = [Properties] extends [undefined]
  ? { properties?: Record<string, never> | null | undefined }
  : Record<string, never> extends Properties
    ? { properties?: Properties | null | undefined }
    : { properties: Properties }

/** Fields of every call. A message whose JSON is longer than `maxMessageBytes` fails with `too_large`. */
export interface CommonParams {
  /** Facts about the message. Default: only the library, which is always added. */
  context?: ExtraContext | null | undefined
  /** Destination switches. Default: every destination is on. */
  integrations?: Integrations | null | undefined
  /** When the event happened. May be in the past, to import history. Default: the time of the call. */
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

/**
 * The parameters of `track`. With a map of events, `event` must be one of its names, and `properties` must have the type for
 * that name.
 */
export type TrackParams<
  Events = AnyEvents,
  Name extends EventName<Events> = EventName<Events>,
  Who = Identity,
> = CommonParams & TypedEvent<Events, Name> & Who

/** The parameters of `page`. */
export type PageParams<Who = Identity> = CommonParams & {
  /** Name of the page. */
  name?: string | null | undefined
  /** Category of the page. Also copied to `properties.category`. */
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

/** A message as it is sent. `timestamp` is an ISO-8601 string; in {@link ContextEvent} it is a `Date`. */
export interface Message<Time = string> {
  /** The kind of the message. */
  type: Kind
  /** Key for deduplication. */
  messageId: string
  /** When the event happened. */
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
  /** `page`, `screen`: the name of the page or screen. */
  name?: string | undefined
  /** `page`, `screen`: the category of the page or screen. */
  category?: string | undefined
  /** `track`, `page`, `screen`: the properties. */
  properties?: EventProperties | undefined
  /** `identify`, `group`: the traits. */
  traits?: (UserTraits & GroupTraits) | undefined
  /** Facts about the message, including the library. */
  context: ExtraContext & { library: { name: string; version: string } }
  /** Destination switches. */
  integrations: Integrations
  /** The runtime in which the message was made, and the Node.js version that it reports. Bun and Deno report one too. */
  _metadata: { nodeVersion?: string; jsRuntime: string }
}

/** A message as plugins, callbacks and listeners see it: `timestamp` is a `Date`. */
export type ContextEvent = Message<Date>

/** An event for a test of a plugin. All fields except `type` are optional. */
export type ContextInput = Partial<ContextEvent> & Pick<ContextEvent, 'type'>
