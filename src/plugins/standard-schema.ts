// Types of Standard Schema 1 (https://standardschema.dev), which recommends copying its types over adding a dependency.

/** A schema of any library that implements Standard Schema: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The properties that the standard defines. */
  readonly '~standard': StandardSchemaProps<Input, Output>
}

/** The properties that the standard defines for a schema. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  /** The version of the standard. */
  readonly version: 1
  /** The name of the library. */
  readonly vendor: string
  /** Checks a value. Returns the validated value, or the issues if the value does not follow the schema. */
  readonly validate: (value: unknown) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>
  /** The types of the input and the output, for the compiler only. Not set at run time. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

/** The validated value, or the issues of a value that does not follow the schema. */
export type StandardSchemaResult<Output> =
  | {
      /** The validated value, with conversions and defaults. */
      readonly value: Output
      /** Absent, because the value follows the schema. */
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
  /** The keys that lead to the problem in the value, outermost first. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
