/**
 * The tests of this folder send functions as text to other processes, where the variables of the test file do not
 * exist. This test checks that no such function uses one.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const FOLDER = import.meta.dirname
/** Options of a test server that are functions. They are sent to the oracle, the process of the test servers. */
const SCRIPTS = ['script', 'onHead', 'onConnection']
/** Functions that send one of their arguments to another process, with the index of this argument. */
const SENDERS: Record<string, number> = { runHost: 1, run: 0 }

const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join(FOLDER, name))
const program = ts.createProgram(files, {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: ['node'],
})
const checker = program.getTypeChecker()

function sentFunctions(root: ts.SourceFile): ts.Node[] {
  const found: ts.Node[] = []
  const take = (node: ts.Node | undefined): void => {
    if (node === undefined) return
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) found.push(node)
    else if (ts.isConditionalExpression(node)) {
      take(node.whenTrue)
      take(node.whenFalse)
    } else if (ts.isIdentifier(node)) {
      const declaration = checker.getSymbolAtLocation(node)?.valueDeclaration
      if (declaration !== undefined && ts.isFunctionDeclaration(declaration)) found.push(declaration)
      else if (declaration !== undefined && ts.isVariableDeclaration(declaration))
        take(declaration.initializer)
    }
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const { expression: called } = node
      const name = ts.isPropertyAccessExpression(called) ? called.name.text : called.getText()
      const at = SENDERS[name]
      if (at !== undefined) take(node.arguments[at])
    }
    if (ts.isPropertyAssignment(node) && SCRIPTS.includes(node.name.getText())) take(node.initializer)
    node.forEachChild(visit)
  }
  visit(root)
  return found
}

/** Names that a function uses and that are declared outside of it. */
function closuresOf(sent: ts.Node): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node)
      const declared = ts.isShorthandPropertyAssignment(node.parent)
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : symbol
      const declaration = declared?.declarations?.[0]
      const isProperty = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
      if (declaration !== undefined && !isProperty && isAround(declaration, sent)) found.push(node.text)
    }
    node.forEachChild(visit)
  }
  visit(sent)
  return found
}

function isAround(declaration: ts.Node, sent: ts.Node): boolean {
  if (declaration.getSourceFile() !== sent.getSourceFile()) return false
  if (ts.isPropertySignature(declaration) || ts.isPropertyAssignment(declaration)) return false
  return declaration.pos < sent.pos || declaration.end > sent.end
}

test.each(files.map((path) => path.slice(FOLDER.length + 1)))(
  '%s: code that runs in another process uses no variable of its file',
  (name) => {
    const root = program.getSourceFile(join(FOLDER, name)) as ts.SourceFile

    const closures = sentFunctions(root).flatMap((sent) => {
      const { line } = root.getLineAndCharacterOfPosition(sent.getStart())
      return closuresOf(sent).map((used) => `line ${line + 1}: ${used}`)
    })

    expect(closures).toEqual([])
  },
)

test('the check finds more than 100 functions that are sent', () => {
  const count = files.reduce(
    (sum, path) => sum + sentFunctions(program.getSourceFile(path) as ts.SourceFile).length,
    0,
  )

  expect(count).toBeGreaterThan(100)
})
