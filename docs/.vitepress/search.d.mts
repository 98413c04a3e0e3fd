export const search: {
  readonly provider: 'local'
  readonly options: {
    readonly detailedView: boolean
    readonly miniSearch: {
      readonly options: Record<string, unknown>
      readonly searchOptions: Record<string, unknown>
    }
  }
}
