export const DOCUMENTS: readonly string[]
export function withTables(text: string): Promise<string>
