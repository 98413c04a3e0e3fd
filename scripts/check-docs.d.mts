export function brokenReference(reference: string): string | undefined
export function checkDocs(entries: string[]): { problems: string[]; count: number }
