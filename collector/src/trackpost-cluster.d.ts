/** The types of an optional package that depends on this one, without a dependency on it. */
declare module 'trackpost-cluster' {
  const drivers: import('./drivers.ts').Drivers
  export const version: string
  export const openStore: typeof drivers.openStore
  export const openLog: typeof drivers.openLog
  export const openSender: typeof drivers.openSender
}
