export function findFrameworks(): string | undefined
export function fetchFrameworks(): string
