import type * as node from './exit.node.ts'

/** Edge runtimes and browsers do not tell that they end. */
export const watchExit: typeof node.watchExit = () => false
export const unwatchExit: typeof node.unwatchExit = () => {}
export const listenToExit: typeof node.listenToExit = () => {}
