import { open as openTrackpost, specifier } from './trackpost.mjs'

export { specifier }

/** The SDK with the client over `node:http`, which users choose with one line. */
export async function open(settings) {
  const { NodeHTTPClient } = await import(new URL('node.js', specifier).href)
  return openTrackpost(settings, specifier, { httpClient: new NodeHTTPClient() })
}
