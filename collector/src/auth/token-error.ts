/** Says why no token is issued, with an error code of RFC 6749, section 5.2. */
export class TokenError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, description: string) {
    super(description)
    this.status = status
    this.code = code
  }
}
