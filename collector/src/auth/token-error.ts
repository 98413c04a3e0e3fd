/** Says why no token is issued, with an error code of RFC 6749, section 5.2. */
export class TokenError extends Error {
  readonly status: number
  readonly code: string
  /** Whether the signature of the assertion was not right. */
  readonly isGuess: boolean

  constructor(status: number, code: string, description: string, isGuess = false) {
    super(description)
    this.status = status
    this.code = code
    this.isGuess = isGuess
  }
}
