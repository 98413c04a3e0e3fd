export interface CommandContext {
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * Calls `run` when the user interrupts the command, for example with Ctrl+C. A second interrupt ends the process. Returns a
   * function that removes the listener.
   */
  onInterrupt(run: () => void): () => void
}
