// The types of https://standardschema.dev, version 1, as far as they are needed: they are made to be copied, so that
// nobody depends on a package for them.

/** A schema of any library that implements Standard Schema: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** What the library offers to others. */
  readonly '~standard': StandardSchemaProps<Input, Output>
}

/** What a schema offers to those who do not know its library. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  /** The version of the standard. */
  readonly version: 1
  /** The name of the library. */
  readonly vendor: string
  /** Says whether a value follows the schema, and what the schema makes of it. */
  readonly validate: (value: unknown) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>
  /** Never there at run time: the types of what goes in and comes out. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

/** What a schema makes of a value, or why the value does not follow it. */
export type StandardSchemaResult<Output> =
  | {
      /** What the schema makes of the value. */
      readonly value: Output
      /** Absent: the value follows the schema. */
      readonly issues?: undefined
    }
  | {
      /** Why the value does not follow the schema. */
      readonly issues: readonly StandardSchemaIssue[]
    }

/** One reason why a value does not follow a schema. */
export interface StandardSchemaIssue {
  /** What is wrong, for people. */
  readonly message: string
  /** The keys that lead to it, outermost first. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
