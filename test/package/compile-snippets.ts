import { basename, join } from 'node:path'
import { type Project, REPOSITORY, runTool } from './project.ts'

/**
 * Compiles each snippet in its own file, with the installed package.
 *
 * @param types The packages of `@types` whose types the snippets can use.
 * @returns The errors of each snippet, by the name of the snippet; empty if there are none.
 */
export async function compileSnippets(
  project: Project,
  name: string,
  header: string,
  snippets: Readonly<Record<string, string>>,
  types: readonly string[] = [],
): Promise<Record<string, string>> {
  const entries = Object.entries(snippets)
  const files = await Promise.all(
    entries.map(([, snippet], index) => project.write(`${name}-${index}.mts`, header + snippet)),
  )
  const compilerOptions = {
    target: 'ES2022',
    module: 'node16',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types,
    typeRoots: [join(REPOSITORY, 'node_modules/@types')],
  }
  const path = await project.write(`${name}.json`, JSON.stringify({ compilerOptions, files }))

  const { output } = await runTool('tsc', ['--project', path, '--pretty', 'false'], project.folder)

  // An error may have several lines: its further lines are indented.
  const complaints = output.split(/\n(?! )/)
  return Object.fromEntries(
    entries.map(([name], index) => {
      const start = `${basename(files[index] as string)}(`
      return [name, complaints.filter((line) => line.startsWith(start)).join('\n')]
    }),
  )
}
