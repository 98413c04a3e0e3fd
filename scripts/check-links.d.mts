export function brokenLinks(site: string, base?: string): string[]
