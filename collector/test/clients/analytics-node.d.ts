declare module 'analytics-node' {
  type Call = (message: object, done?: () => void) => unknown
  export default class Analytics {
    constructor(writeKey: string, options?: { host?: string; flushAt?: number; flushInterval?: number })
    identify: Call
    track: Call
    page: Call
    screen: Call
    group: Call
    alias: Call
    flush(): Promise<unknown>
  }
}
