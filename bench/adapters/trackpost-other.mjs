import { open as openTrackpost } from './trackpost.mjs'

/** Another build of the SDK, compared with the one in `dist`: `--other path/to/index.js`. */
const build = process.env.BENCH_OTHER_BUILD

export function open(settings) {
  if (!build) throw new Error('trackpost-other needs --other <path to a built index.js>')
  return openTrackpost(settings, build)
}
