// The part that we need of the types of https://standardschema.dev, version 1. They are meant to be copied, so that no
// program needs a package for them.

/** A schema of any library that implements Standard Schema: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The interface of the library for other programs. */
  readonly '~standard': StandardSchemaProps<Input, Output>
}

/** The part of a schema that every library implements. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  /** The version of the standard. */
  readonly version: 1
  /** The name of the library. */
  readonly vendor: string
  /** Says whether a value follows the schema, and what the schema makes of it. */
  readonly validate: (value: unknown) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>
  /** The types of the input and the output. Never set at run time. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

/** The validated value, or the issues of a value that does not follow the schema. */
export type StandardSchemaResult<Output> =
  | {
      /** The validated value, conversions and defaults included. */
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
  /** The problem, in words. */
  readonly message: string
  /** The keys that lead to it, outermost first. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
