import type { EventProperties, GroupTraits, UserTraits } from '../message/shapes.ts'
import type { AnyEvents, EventName, Kind, Message } from '../message/types.ts'
import type { AsymmetricMatcher } from './differences.ts'

/** The type of a value after JSON: a `Date` becomes text, and an object with `toJSON()` becomes its result. */
export type AsJSON<Value> = 0 extends 1 & Value
  ? Value
  : Value extends { toJSON(): infer Written }
    ? AsJSON<Written>
    : Value extends bigint
      ? string
      : Value extends object
        ? { [Name in keyof Value]: AsJSON<Value[Name]> }
        : Value

type Common = Pick<
  Message,
  'messageId' | 'timestamp' | 'userId' | 'anonymousId' | 'context' | 'integrations' | '_metadata'
>

type SentProperties<Properties> = 0 extends 1 & Properties
  ? EventProperties
  : [Properties] extends [undefined]
    ? Record<string, never>
    : AsJSON<Properties>

/** The message of `track`, for one name in the map of events, or for all names. */
export type TrackMessage<
  Events = AnyEvents,
  Name extends EventName<Events> = EventName<Events>,
> = Name extends unknown
  ? Common & {
      /** The kind of the message. */
      type: 'track'
      /** Name of the action. */
      event: Name
      /** Properties of the event; `{}` when the call had none. */
      properties: SentProperties<Events[Name]>
    }
  : never

/** The message of `identify`. */
export type IdentifyMessage<User = UserTraits> = Common & {
  /** The kind of the message. */
  type: 'identify'
  /** Facts about the user; `{}` when the call had none. */
  traits: AsJSON<User>
}

/** The message of `page` and `screen`. */
export type ViewMessage<Type extends 'page' | 'screen' = 'page' | 'screen'> = Type extends unknown
  ? Common & {
      /** The kind of the message. */
      type: Type
      /** Name of the page or screen. */
      name?: string | undefined
      /** Category of the page or screen. */
      category?: string | undefined
      /** Properties; `{}` when the call had none. */
      properties: EventProperties
    }
  : never

/** The message of `group`. */
export type GroupMessage<Group = GroupTraits> = Common & {
  /** The kind of the message. */
  type: 'group'
  /** Id of the company or team. */
  groupId: string
  /** Facts about the group; `{}` when the call had none. */
  traits: AsJSON<Group>
}

/** The message of `alias`. */
export type AliasMessage = Common & {
  /** The kind of the message. */
  type: 'alias'
  /** The id of the user until now. */
  previousId: string
}

/** A message that a test client has accepted, parsed from the JSON that would have been sent. */
export type TestMessage<Events = AnyEvents, User = UserTraits, Group = GroupTraits> =
  | TrackMessage<Events>
  | IdentifyMessage<User>
  | ViewMessage
  | GroupMessage<Group>
  | AliasMessage

/** The messages of one kind. */
export type MessageOfKind<
  Type extends Kind,
  Events = AnyEvents,
  User = UserTraits,
  Group = GroupTraits,
> = Extract<TestMessage<Events, User, Group>, { type: Type }>

/**
 * A part of a value. Its keys must have equal values; all other keys may have any value. Arrays must have the same length. A
 * value may be an asymmetric matcher such as `expect.any(Number)`.
 */
export type PartOf<Value> = 0 extends 1 & Value
  ? Value
  :
      | AsymmetricMatcher
      | (Value extends readonly unknown[]
          ? { [Index in keyof Value]: PartOf<Value[Index]> }
          : Value extends object
            ? FieldsOf<Value>
            : Value)

/** Some of the fields of an object, or parts of them. */
export type FieldsOf<Value> = { [Name in keyof Value]?: PartOf<Value[Name]> | undefined }

/** A part of a `track` message with this name. */
export type TrackFilter<Events, Name extends EventName<Events>> = {
  /** The kind of the message; optional. */
  type?: 'track' | undefined
  /** Name of the action. */
  event: Name
} & FieldsOf<Omit<TrackMessage<Events, Name>, 'type' | 'event'>>

/** A part of a message of this kind. */
export type KindFilter<Type extends Kind, Events, User, Group> = {
  /** The kind of the message. */
  type: Type
} & FieldsOf<Omit<MessageOfKind<Type, Events, User, Group>, 'type'>>

/**
 * A part of a message of any kind, an asymmetric matcher for a whole message, or a function that returns whether a message
 * matches.
 */
export type AnyFilter<Events, User, Group> =
  | (FieldsOf<Common> & {
      /** Not here: a filter with a kind is a {@link KindFilter}. */
      type?: undefined
      /** Not here: a filter with an event is a {@link TrackFilter}. */
      event?: undefined
    })
  | AsymmetricMatcher
  | ((message: TestMessage<Events, User, Group>) => boolean)
