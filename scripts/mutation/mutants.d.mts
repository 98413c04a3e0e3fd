export interface Mutant {
  readonly line: number
  readonly kind: string
  readonly from: string
  readonly to: string
}
export function findMutants(path: string, text: string): Mutant[]
export function withMutants(
  path: string,
  text: string,
  numberOf: (index: number) => number | undefined,
): string
