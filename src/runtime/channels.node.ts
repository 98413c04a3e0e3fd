import { channel } from 'node:diagnostics_channel'
import type { OpenChannel } from './channels.ts'

/** The channels of Node.js, Bun and Deno. Edge runtimes get `channels.web.ts` in its place. */
export const openChannel: OpenChannel = channel
