/** A client, as the end of the process sees it. */
export interface Exiting {
  readonly accepted: number
  /** Called when the process has run out of work. @returns Whether the process is kept alive for waiting events. */
  onExit(): boolean
  /** Called when the process ends although events wait, and for each event after that. Must do its work synchronously. */
  onEnd(): void
  /** The value of `accepted` when the process was last kept alive for the client. */
  keptAt: number | undefined
  /** Whether the process was kept alive for the client, and the client has accepted no event since. */
  isRepeated: boolean
}
