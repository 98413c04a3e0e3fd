// A file may import from its own module and from modules of lower layers, types included, and never in a cycle: `npm run layers`.

/**
 * The modules of a package from top to bottom, one list for each layer. A module is a folder or a file directly below the source
 * folder. Modules of the same layer may not import each other.
 */
const LAYERS = {
  src: [
    [
      'index.ts',
      'node.ts',
      'compat.ts',
      'msw.ts',
      'plugins.ts',
      'scope.ts',
      'spool.ts',
      'testing.ts',
      'workers.ts',
    ],
    ['testing', 'compat', 'workers'],
    ['analytics.ts', 'platform.node.ts', 'platform.web.ts'],
    ['scope', 'client'],
    ['core'],
    ['events'],
    ['delivery', 'spool', 'plugins'],
    ['auth'],
    ['settings'],
    ['pipeline'],
    ['http', 'version.ts'],
    ['message'],
    ['errors'],
    ['runtime'],
  ],
  'collector/src': [
    ['index.ts', 'cli'],
    ['start.ts'],
    ['collector.ts', 'front.ts'],
    ['api'],
    ['router.ts'],
    ['options.ts', 'ingest'],
    ['destinations'],
    ['handle.ts', 'auth'],
    ['catalogue', 'live'],
    ['assets.ts', 'changes', 'faults', 'ops'],
    ['http'],
    ['store'],
    ['trackpost-cluster.d.ts'],
    ['feed.ts'],
    ['help.ts', 'system-clock.ts', 'config', 'plan', 'search'],
    ['new-event.ts'],
    [
      'clock.ts',
      'event-key.ts',
      'json',
      'on-fault.ts',
      'network-address.ts',
      'percent-decoding.ts',
      'plain-text.ts',
      'record.ts',
      'version.ts',
    ],
  ],
  'cluster/src': [
    ['index.ts', 'cli.ts'],
    ['front.ts', 'work.ts', 'feed.ts'],
    ['worker.ts'],
    ['destinations'],
    ['stream'],
    ['arguments.ts', 'metrics.ts', 'ops-server.ts', 'version.ts'],
  ],
  'collector/page/src': [['main.tsx'], ['app.tsx'], ['screens'], ['components'], ['lib']],
  'cli/src': [
    ['main.ts'],
    ['program.ts'],
    ['commands'],
    ['plan'],
    ['import'],
    ['client.ts', 'settings'],
    ['errors.ts', 'output', 'version.ts'],
  ],
}

/** Source files of other packages that a package may import and bundle. */
const FROM_OTHERS = {
  'collector/page/src': ['^collector/src/(?:catalogue|changes|faults|live|record|store|search)\\b'],
  'cli/src': ['^collector/src/json\\b', '^collector/src/plan/mistake\\.ts$'],
}

/** Modules with an entry point of their own, which the main entry point must not load. */
const OWN_ENTRIES = '^src/(?:compat|plugins|scope|spool|testing|workers)/'

const pathOf = (root, modules) =>
  `^${root}/(?:${modules.map((name) => (name.includes('.') ? `${name.replaceAll('.', '\\.')}$` : `${name}/`)).join('|')})`

const layers = Object.entries(LAYERS).flatMap(([root, rows]) =>
  rows.flatMap((modules, index) =>
    modules.flatMap((name) => {
      const others = [...rows.slice(0, index).flat(), ...modules.filter((other) => other !== name)]
      return others.length === 0
        ? []
        : {
            name: `below ${root}/${name}`,
            from: { path: pathOf(root, [name]) },
            to: { path: pathOf(root, others) },
          }
    }),
  ),
)

const packages = Object.entries(LAYERS).flatMap(([root, rows]) => [
  {
    name: `${root}: every module has a layer`,
    from: { path: `^${root}/`, pathNot: pathOf(root, rows.flat()) },
    to: {},
  },
  {
    name: `${root}: only the agreed files of other packages`,
    from: { path: `^${root}/` },
    to: {
      path: `^(?:${Object.keys(LAYERS).join('|')})/`,
      pathNot: [`^${root}/`, ...(FROM_OTHERS[root] ?? [])],
    },
  },
])

export default {
  forbidden: [
    ...layers,
    ...packages,
    {
      name: 'no cycles',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['dynamic-import'] } },
    },
    {
      name: 'entry points of their own',
      from: { path: '^src/index\\.ts$' },
      to: { path: OWN_ENTRIES, reachable: true },
    },
  ].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
}
