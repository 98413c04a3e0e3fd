/** The types of an optional package that depends on this one, without a dependency on it. */
declare module 'trackpost-cluster' {
  const cluster: import('./feed.ts').ClusterModule
  export const version: string
  export const openFeed: typeof cluster.openFeed
}
