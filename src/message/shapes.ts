/** The id of a user, a group or an anonymous visitor; not empty. Finite numbers and BigInts are sent as decimal strings. */
export type Id = string | number | bigint

/** A time: a valid `Date`, an ISO-8601 string, or milliseconds since the epoch. */
export type Timestamp = Date | string | number

/**
 * Any object except an array, function, Map, Set, Date, Error or boxed primitive; these fail with `invalid`. Instances of other
 * classes are sent as `JSON.stringify` writes them, including `toJSON`.
 */
export interface JSONObject {
  /** A value of any type, under any name. */
  // biome-ignore lint/suspicious/noExplicitAny: values of an interface type are assignable to `any` only
  [key: string]: any
  /** Makes the compiler refuse arrays, Maps and Sets. */
  readonly [Symbol.iterator]?: never
  /** Makes the compiler refuse functions. */
  readonly [Symbol.hasInstance]?: never
  /** Makes the compiler refuse Dates. */
  readonly [Symbol.toPrimitive]?: never
}

/**
 * Destination switches by name: `true`, `false`, or an object with options for that destination, which counts as `true`. `All:
 * false` turns off every destination that is not switched on. Names are case-sensitive. Default: every destination is on.
 *
 * @example
 * analytics.track({ userId, event: 'Signed Up', integrations: { All: false, CRM: true } })
 */
export interface Integrations extends JSONObject {
  /** The switch for destinations that are not named. Default: `true`. */
  All?: boolean | undefined
}

/** A campaign that led to the event, usually from UTM parameters. */
export interface Campaign extends JSONObject {
  /** `utm_campaign` */
  name?: string | undefined
  /** `utm_source` */
  source?: string | undefined
  /** `utm_medium` */
  medium?: string | undefined
  /** `utm_term` */
  term?: string | undefined
  /** `utm_content` */
  content?: string | undefined
}

/** The web page that was open. */
export interface PageContext extends JSONObject {
  /** Path of the URL, for example `/academy/`. */
  path?: string | undefined
  /** URL of the page that linked here. */
  referrer?: string | undefined
  /** Query of the URL. */
  search?: string | undefined
  /** Title of the page. */
  title?: string | undefined
  /** Full URL. */
  url?: string | undefined
}

/** Facts about the message. These keys are standard; you may add others. */
export interface ExtraContext extends JSONObject {
  /** Whether the user was active; `false`, for example, for a change of traits in the background. */
  active?: boolean | undefined
  /** The campaign that led to the event. */
  campaign?: Campaign | undefined
  /** `true` makes the service use the IP address of the caller. */
  direct?: boolean | undefined
  /** The group that the user acts for. */
  groupId?: Id | undefined
  /** IP address of the user. */
  ip?: string | undefined
  /** Library that made the message. Always set by the client, which replaces a given value. */
  library?: { name: string; version: string } | undefined
  /** Locale, for example `en-US`. */
  locale?: string | undefined
  /** Where the user is, for example `{ city, country }`. */
  location?: JSONObject | undefined
  /** The web page that was open. */
  page?: PageContext | undefined
  /** The source that referred the user, for example `{ name, url }`. */
  referrer?: JSONObject | undefined
  /** Time zone, for example `Europe/Zurich`. */
  timezone?: string | undefined
  /** Traits of the user, for destinations that need them with every event. */
  traits?: UserTraits | undefined
  /** User agent of the user's device. */
  userAgent?: string | undefined
}

/** Traits that users and groups share. `null` clears a trait. */
export interface CommonTraits extends JSONObject {
  /** Postal address, for example `{ city, country, postalCode, state, street }`. */
  address?: JSONObject | null | undefined
  /** URL of an image. */
  avatar?: string | null | undefined
  /** When the account was created. */
  createdAt?: Timestamp | null | undefined
  /** Description in a few sentences. */
  description?: string | null | undefined
  /** E-mail address. */
  email?: string | null | undefined
  /** Your id in the database. */
  id?: string | number | null | undefined
  /** Industry. */
  industry?: string | null | undefined
  /** Full name. */
  name?: string | null | undefined
  /** Phone number. */
  phone?: string | number | null | undefined
  /** Plan that was bought. */
  plan?: string | null | undefined
  /** URL of the website. */
  website?: string | null | undefined
}

/** Traits of a user. These keys are standard; you may add others. `null` clears a trait. */
export interface UserTraits extends CommonTraits {
  /** Age in years. */
  age?: number | null | undefined
  /** Birthday. */
  birthday?: Timestamp | null | undefined
  /** Company that the user works for, for example `{ id, name, plan }`. */
  company?: JSONObject | null | undefined
  /** First name. */
  firstName?: string | null | undefined
  /** Gender. */
  gender?: string | null | undefined
  /** Last name. */
  lastName?: string | null | undefined
  /** Title, for example `VP of Engineering`. */
  title?: string | null | undefined
  /** User name. */
  username?: string | null | undefined
}

/** Traits of a group. These keys are standard; you may add others. `null` clears a trait. */
export interface GroupTraits extends CommonTraits {
  /** Number of employees. */
  employees?: string | number | null | undefined
}

/** Properties of an event, a page or a screen. Any keys are allowed. */
export interface EventProperties extends JSONObject {}
