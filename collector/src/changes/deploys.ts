import type { Database } from '../store/database.ts'
import { sql } from '../store/sql.ts'

/** A mark in time: from here on, the events come from other code. */
export interface Deploy {
  id: string
  at: string
  /** What was deployed, such as a version or a commit; may be empty. */
  name: string
}

const MAX_DEPLOYS = 1000

interface Row {
  id: number
  at: number
  name: string
}

function deployOf({ id, at, name }: Row): Deploy {
  return { id: String(id), at: new Date(at).toISOString(), name }
}

/** The newest first. */
export function listDeploys(database: Database): Deploy[] {
  return database.all<Row>(sql`SELECT id, at, name FROM deploy ORDER BY at DESC, id DESC`).map(deployOf)
}

export function markDeploy(database: Database, atMs: number, name: string): Deploy {
  database.run(sql`INSERT INTO deploy (at, name) VALUES (${atMs}, ${name})`)
  const id = database.number('SELECT last_insert_rowid() AS value')
  database.run(
    sql`DELETE FROM deploy WHERE id NOT IN (SELECT id FROM deploy ORDER BY at DESC, id DESC LIMIT ${MAX_DEPLOYS})`,
  )
  return deployOf({ id, at: atMs, name })
}

/** Returns false if no deploy has this id. */
export function removeDeploy(database: Database, id: string): boolean {
  return database.run(sql`DELETE FROM deploy WHERE id = ${Number(id) || 0}`) > 0
}
