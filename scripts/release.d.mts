export function requireNewer(current: string, next: string | undefined): void
export function releaseChangelog(text: string, version: string, date: string): string
export function releaseFiles(
  read: (path: string) => string,
  version: string | undefined,
  date: string,
): Record<string, string>
