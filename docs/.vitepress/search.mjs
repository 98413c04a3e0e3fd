// VitePress writes these functions into the page as text, so each has to stand alone.

/**
 * Guides rank first, because the other pages contain the name that was searched for, but do not explain how to use it. A page
 * also ranks first for the words by which people ask for it, whether it has them or not. Without arguments, returns these words.
 */
function boostDocument(id, term) {
  const asked = {
    '/five-minutes':
      'shutdown sigterm exit getting started install esm commonjs import require quickstart identify track page screen group alias promise await hello world script cron pm2',
    '/settings': 'batch size write key writekey configuration options region environment variables timeout',
    '/delivery':
      'retry retries retry-after backoff deduplicate deduplication duplicates idempotency idempotent at-least-once exactly-once outage order rate limit 429 503',
    '/errors': 'error codes exception',
    '/troubleshooting': 'missing debug debugging econnrefused enotfound etimedout certificate ssl',
    '/serverless': 'lambda vercel netlify cloudflare workers edge azure gcp functions',
    '/typed-events': 'typescript typing generics autocomplete zod valibot arktype',
    '/tracking-plans': 'protocols governance codegen plan json schema ci github actions',
    '/scopes': 'middleware express fastify hono nestjs next.js anonymous asynclocalstorage',
    '/plugins': 'plugin hooks sampling enrichment',
    '/privacy': 'pii gdpr personal data anonymise anonymize hipaa ccpa consent redact erase delete deletion',
    '/recipes': 'https_proxy http_proxy super properties messageid proxy',
    '/testing': 'mock mocks mocking jest vitest unit tests fake msw clock timers',
    '/platforms': 'bun deno runtimes electron',
    '/observability':
      'datadog grafana prometheus newrelic sentry logs logging metrics tracing opentelemetry healthcheck',
    '/spool': 'persist persistence disk offline durable crash',
    '/oauth': 'jwt token kms rsa',
    '/self-hosted':
      'custom fetch axios undici gateway bundler webpack esbuild gzip compression http2 keepalive keep-alive agent',
    '/compared': 'bundle size footprint alternatives',
    '/performance': 'benchmark speed latency throughput memory overhead cold start startup',
    '/command-line':
      'command line cli tail csv ndjson bulk historical history backfill import shell terminal',
    '/collector': 'collector local server dashboard inspect mock-server docker destinations webhook live',
    '/cluster':
      'kubernetes k8s postgresql postgres nats clickhouse scale production cluster high availability backup',
    '/versions':
      'licence license mit semver support maintainers eol roadmap version upgrade upgrading breaking changes deprecated stable',
    '/changelog': 'changelog release notes releases',
    '/security': 'vulnerability cve security provenance sbom tls encryption encrypted dependencies soc2',
    '/not-offered':
      'browser kafka graphql helm react mobile ios android redis python kinesis sqs feature flags replay snowflake bigquery redshift s3 warehouse amplitude mixpanel google firebase airflow',
  }
  if (id === undefined) return asked
  const page = id.replace(/(?:\.html)?(?:#.*)?$/, '')
  const isAsked = (asked[page] ?? '').split(' ').includes(term)
  if (isAsked) return 8
  if (page.startsWith('/api/')) return 0.15
  if (page === '/' || page === '' || page === '/changelog') return 0.3
  if (/^\/(?:spec|faults|contributing\/)/.test(page)) return 0.1
  return /^\/(?:migration\/|cluster|collector\/)/.test(page) ? 0.5 : 1
}

/**
 * An identifier such as `queue_full` is one word. The index also has the parts of words such as `Retry-After`. `field` is
 * `undefined` for a query.
 */
function tokenize(text, field) {
  const words = text.match(/[\p{L}\p{N}_$]+(?:[-.][\p{L}\p{N}_$]+)*/gu) ?? []
  if (field === undefined) return words
  return words.flatMap((word) => (/[-.]/.test(word) ? [word, ...word.split(/[-.]/)] : [word]))
}

/** Words that say nothing about the subject are neither found nor highlighted. */
function processTerm(term) {
  const word = term.toLowerCase()
  const ignored =
    'a an and any are as at be been but by can could did do does for from get had has have how i if in into is it its me my no not of on one or our out should so such than that the their them then there these they this to up us use using want was we were what when where which who why will with would you your'
  return ignored.split(' ').includes(word) ? null : word
}

export const search = {
  provider: 'local',
  options: {
    detailedView: true,
    /** The text of a page for the index, with the words by which people ask for it below its title. */
    _render(source, env, markdown) {
      const html = markdown.render(source, env)
      const words = boostDocument()[`/${env.relativePath.replace(/\.md$/, '')}`]
      return words === undefined ? html : html.replace('</h1>', `</h1>\n<p>${words}</p>`)
    },
    miniSearch: {
      options: { tokenize, processTerm },
      searchOptions: {
        boost: { title: 4, text: 2, titles: 1 },
        boostDocument,
        prefix: (term) => term.length > 2,
        // Typing errors are allowed in long names only: a short word or a code would match another one.
        fuzzy: (term) => (term.length > 4 && !/[_\d]/.test(term) ? 0.2 : false),
      },
    },
  },
}
