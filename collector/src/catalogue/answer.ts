import type { catalogue, catalogueDetail } from './catalogue.ts'

export type Catalogue = Awaited<ReturnType<typeof catalogue>>
export type CatalogueEntry = Catalogue['entries'][number]
export type CatalogueDetail = NonNullable<Awaited<ReturnType<typeof catalogueDetail>>>
export type { FoundField } from './fields.ts'
