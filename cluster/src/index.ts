export { openFeed } from './feed.ts'
export { type FrontParts, startFront } from './front.ts'
export { version } from './version.ts'
export { startWork, type WorkParts } from './work.ts'
