// Runs the same calls on every runtime, with the package as users install it. The file is CommonJS, which all
// runtimes can load.

/**
 * @returns {Promise<Record<string, unknown>>} The results of the client for each part. runtimes.test.ts also checks
 * the requests.
 */
module.exports = async function runScenario({ Analytics, FetchHTTPClient, SettingsError }, config) {
  const { apiUrl, writeKey } = config
  const parts = { kinds, retry, limit, close, objectClient, functionClient, compress, refused, oauth, badKey }
  const create = (part, settings) =>
    new Analytics({ writeKey, host: `${apiUrl}/${part}`, flushAt: 100, ...settings })

  async function kinds() {
    const analytics = create('kinds')
    const userId = 'usr_Zoë'
    analytics.identify({ userId, traits: { plan: 'Größe M' } })
    analytics.track({ userId, event: 'Bestellung', properties: { price: 12.5, emoji: '🍰' } })
    analytics.page({ userId, category: 'Laden', name: 'Kasse' })
    analytics.screen({ userId, name: 'Warenkorb' })
    analytics.group({ userId, groupId: 'grp_7', traits: { city: 'Zürich' } })
    analytics.alias({ userId, previousId: 'anon_3' })
    return analytics.flush()
  }

  async function retry() {
    const analytics = create('retry')
    analytics.track({ userId: 'u', event: 'retried' })
    return analytics.flush()
  }

  async function limit() {
    const analytics = create('limit')
    analytics.track({ userId: 'u', event: 'limited' })
    return analytics.flush()
  }

  async function close() {
    const analytics = create('close')
    for (let number = 0; number < 250; number++)
      analytics.track({ userId: 'u', event: 'closing', properties: { number } })
    const summary = await analytics.closeAndFlush()
    const late = await new Promise((resolve) => {
      analytics.track({ userId: 'u', event: 'late' }, (error) => resolve(error?.code))
    })
    return { ...summary, late }
  }

  async function objectClient() {
    const urls = []
    const httpClient = {
      async makeRequest(request) {
        urls.push(request.url)
        return { status: 200, statusText: 'OK', headers: {}, text: async () => '' }
      },
    }
    const analytics = create('object', { httpClient })
    analytics.track({ userId: 'u', event: 'elsewhere' })
    return { ...(await analytics.flush()), requests: urls.length }
  }

  async function functionClient() {
    if (typeof fetch !== 'function') return 'no fetch'
    let requests = 0
    const httpClient = new FetchHTTPClient((url, init) => {
      requests++
      return fetch(url, init)
    })
    const analytics = create('function', { httpClient })
    analytics.track({ userId: 'u', event: 'by a function' })
    return { ...(await analytics.flush()), requests }
  }

  async function compress() {
    const analytics = create('compress', { compress: 'gzip' })
    for (let number = 0; number < 50; number++)
      analytics.track({ userId: 'u', event: 'Köche', properties: { number } })
    return analytics.flush()
  }

  async function refused() {
    const warnings = []
    const note = (_fields, message) => warnings.push(message)
    const logger = { debug() {}, info() {}, warn: note, error: note }
    const analytics = create('refused', { compress: 'gzip', logger })
    analytics.track({ userId: 'u', event: 'refused with 415' })
    return { ...(await analytics.flush()), warnings: warnings.length }
  }

  async function oauth() {
    const analytics = create('oauth', { oauthSettings: config.oauthSettings })
    analytics.track({ userId: 'u', event: 'with a token' })
    const first = await analytics.flush()
    analytics.track({ userId: 'u', event: 'with the same token' })
    const second = await analytics.flush()
    return { delivered: first.delivered + second.delivered, failed: first.failed + second.failed }
  }

  async function badKey() {
    const clientKey = config.oauthSettings.clientKey.slice(0, 200)
    try {
      create('bad', { oauthSettings: { ...config.oauthSettings, clientKey } })
    } catch (error) {
      return error instanceof SettingsError && error.setting
    }
    return 'accepted'
  }

  const results = {}
  // Runs all parts at the same time, since they mostly wait.
  await Promise.all(
    Object.entries(parts).map(async ([name, run]) => {
      results[name] = await run()
    }),
  )
  const { Bun, Deno, process } = globalThis
  const version = Bun?.version || Deno?.version.deno || process?.versions?.node
  return { ...results, version }
}
