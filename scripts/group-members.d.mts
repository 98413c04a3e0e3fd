export function groupMembers(markdown: string, groups: Record<string, readonly string[]>): string
