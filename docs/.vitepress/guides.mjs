// The pages of the site, in the order of the sidebar. A document that is not named in one of the sidebars fails the build.
export const GUIDES = [
  {
    text: 'Start',
    pages: ['five-minutes', 'questions', 'settings', 'delivery', 'errors', 'troubleshooting'],
  },
  {
    text: 'Changing over',
    pages: ['segment', 'analytics-node', 'rudderstack', 'posthog-node'].map((name) => `migration/${name}`),
  },
  {
    text: 'In your program',
    pages: [
      'serverless',
      'jobs',
      'scopes',
      'plugins',
      'typed-events',
      'tracking-plans',
      'privacy',
      'recipes',
      'testing',
      'platforms',
    ],
  },
  {
    text: 'In production',
    pages: ['observability', 'spool', 'oauth', 'self-hosted', 'performance'],
  },
  { text: 'Command line', pages: ['command-line'] },
  { text: 'Collector', pages: ['collector', 'collector/api', 'collector/comparison'] },
  { text: 'About', pages: ['compared', 'versions', 'changelog', 'security', 'not-offered'] },
]

/** A sidebar of its own, because a cluster is another product than the SDK. */
export const CLUSTER = [{ text: 'Cluster', pages: ['cluster', 'cluster/package'] }]

/** Pages that are made from documents outside of docs/, each with its title on the site. */
export const ELSEWHERE = {
  collector: {
    source: 'collector/README.md',
    title: 'The collector: look at your events locally, see what your app sends',
  },
  'collector/api': { source: 'collector/docs/api.md', title: 'API of the collector' },
  'collector/comparison': { source: 'collector/docs/comparison.md', title: 'The page, compared' },
  'cluster/package': { source: 'cluster/README.md', title: 'The package for clusters' },
  'command-line': {
    source: 'cli/README.md',
    title: 'The command line: import files, send an event from the shell',
  },
  changelog: { source: 'CHANGELOG.md', title: 'Changelog' },
  security: { source: 'SECURITY.md', title: 'Security' },
}

/** A sidebar of its own, for people who work on the library itself. */
export const CONTRIBUTORS = [
  { text: 'The product', pages: ['spec'] },
  {
    text: 'The code',
    pages: [
      'contributing/decisions',
      'contributing/experiments',
      'contributing/simulation',
      'contributing/page',
      'contributing/release',
    ],
  },
]

/** Each entry point with its sentence in the reference. */
export const ENTRIES = {
  index: 'The client: the six calls, settings, outcomes, errors and the types of events.',
  node: '`NodeHTTPClient`, which sends over `node:http`, and `closeOn`, which delivers before a signal ends the process.',
  plugins: 'Ready plugins: tracking plans, redaction and sampling.',
  scope: 'The visitor, address and page of the current request, for every event that is tracked in it.',
  spool: 'What waits for delivery, kept on disk: it survives the process.',
  testing: 'A client for tests with the service in memory, and matchers for Vitest and Jest.',
  msw: 'Handlers for msw 2 that answer as the tracking API does.',
  compat: 'The shapes of `analytics-node` 6 and `@rudderstack/rudder-sdk-node` 3.',
  workers: 'A client for each request, for Cloudflare Workers: `perRequest`.',
}
