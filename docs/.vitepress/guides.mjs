// The pages of the site, in the order of the sidebar. A document that is not named here fails the build.
export const GUIDES = [
  {
    text: 'Start',
    pages: ['five-minutes', 'settings', 'delivery', 'errors', 'troubleshooting'],
  },
  {
    text: 'In your program',
    pages: ['serverless', 'typed-events', 'scopes', 'plugins', 'testing'],
  },
  {
    text: 'In production',
    pages: ['observability', 'spool', 'oauth', 'self-hosted', 'cluster', 'performance'],
  },
  { text: 'Migration', pages: ['migration/*'] },
  { text: 'Reference', pages: ['spec', 'faults', 'mutation'] },
]
