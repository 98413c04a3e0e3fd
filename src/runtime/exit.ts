/** A client, as the end of the process sees it. */
export interface Exiting {
  /** Called when the process has run out of work although events wait. */
  readonly onIdle: () => void
  /** Called when the process exits although events wait. Must do its work synchronously. */
  readonly onExit: () => void
}
