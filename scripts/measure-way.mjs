// Measures which files and functions run for one `track` without plugins, from the call to its callback. Usage:
//   npm run measure:way             prints the results with a stubbed HTTP client and over loopback
//   npm run measure:way -- --check  fails if a value exceeds its limit in LIMITS
// V8's precise coverage counts files and functions. A copy of the sources, in which every function reports its call, shows
// their order, the changes from one file to another, and the returns to analytics.ts. The files that an import of the client
// loads are found by following static imports, without type imports.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

// The present values, with a stubbed HTTP client. Lower a limit whenever its value becomes smaller.
const LIMITS = { files: 24, filesInCall: 9, changes: 61, returns: 0, loadedFiles: 69, loadedLines: 9_950 }
const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const CACHE = join(ROOT, '.cache')
const [mode, ...args] = process.argv.slice(2)

if (mode === '--run') await run(...args)
else await measure(mode === '--check')

async function measure(isCheck) {
  const ts = (await import('typescript')).default
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'way-'))
  let isGood = true
  try {
    const plain = join(folder, 'plain')
    const traced = join(folder, 'traced')
    for (const path of sources(join(ROOT, 'src'))) {
      transpile(ts, path, plain, false)
      transpile(ts, path, traced, true)
    }
    const loaded = loadedFrom(plain, 'index.js')
    console.log('\nAn import of the client')
    console.log(`  files loaded           ${loaded.files}`)
    console.log(`  lines loaded           ${loaded.lines}`)
    for (const client of ['stub', 'loopback']) {
      const { files, inCall, functions, functionsInCall } = await inChild(plain, client)
      const { order } = await inChild(traced, client)
      const returns = countReturns(order)
      const changes = order.filter((file, index) => file !== order[index - 1]).length
      const ordered = [...new Set([...order, ...files])].filter((file) => files.includes(file))
      console.log(
        `\nOne track(), no plugins, ${client === 'stub' ? 'stubbed HTTP client' : 'default client over loopback'}`,
      )
      console.log(`  files                  ${files.length}`)
      console.log(`  files inside the call  ${inCall.length}`)
      console.log(`  functions              ${functions}`)
      console.log(`  functions in the call  ${functionsInCall}`)
      console.log(`  changes of file        ${changes}`)
      console.log(`  returns to analytics   ${returns}`)
      for (const [index, file] of ordered.entries()) {
        console.log(
          `  ${String(index + 1).padStart(4)}  ${inCall.includes(file) ? 'call ' : '     '} ${file}`,
        )
      }
      if (process.env.WAY_TRACE) console.log(order.filter((file, i) => file !== order[i - 1]).join(' > '))
      if (!isCheck || client !== 'stub') continue
      const measured = {
        files: files.length,
        filesInCall: inCall.length,
        changes,
        returns,
        loadedFiles: loaded.files,
        loadedLines: loaded.lines,
      }
      for (const [name, limit] of Object.entries(LIMITS)) {
        if (measured[name] <= limit) continue
        isGood = false
        console.error(`measure-way: ${name} is ${measured[name]}, at most ${limit} is allowed`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  process.exitCode = isGood ? 0 : 1
}

async function inChild(folder, client) {
  const script = fileURLToPath(import.meta.url)
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--run', folder, client])
  return JSON.parse(stdout)
}

/** Calls of functions of analytics.ts from another file, after the call of `track` itself. */
function countReturns(order) {
  return order.filter((file, index) => index > 0 && file === 'analytics.ts' && order[index - 1] !== file)
    .length
}

/** Counts the modules that static imports of `entry` load, with `entry` itself, and the lines of their sources. */
function loadedFrom(folder, entry) {
  const found = new Set([join(folder, entry)])
  for (const path of found) {
    for (const [, to] of readFileSync(path, 'utf8').matchAll(
      /^\s*(?:import|export)\b[^'"()]*['"](\.[^'"]+)['"]/gm,
    )) {
      found.add(join(dirname(path), to))
    }
  }
  const linesOf = (path) => {
    const source = join(ROOT, 'src', relative(folder, path).replace(/\.js$/, '.ts'))
    return readFileSync(source, 'utf8').split('\n').length - 1
  }
  return { files: found.size, lines: [...found].reduce((sum, path) => sum + linesOf(path), 0) }
}

function sources(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith('.ts'))
}

/** Compiles each source file to a file of its own, so that files can be counted. */
function transpile(ts, path, folder, isTraced) {
  const name = relative(join(ROOT, 'src'), path)
  const { outputText } = ts.transpileModule(readFileSync(path, 'utf8'), {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: true,
    },
    transformers: isTraced ? { before: [tracer(ts, name)] } : {},
  })
  const target = join(folder, name.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, outputText)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
}

/** Adds a call of `way(file)` to the start of every function of a file. */
function tracer(ts, name) {
  return (context) => (root) => {
    const { factory } = context
    const report = () =>
      factory.createExpressionStatement(
        factory.createCallExpression(
          factory.createPropertyAccessExpression(factory.createIdentifier('globalThis'), 'way'),
          undefined,
          [factory.createStringLiteral(name)],
        ),
      )
    const visit = (node) => {
      const visited = ts.visitEachChild(node, visit, context)
      if (!ts.isFunctionLike(visited) || visited.body === undefined) return visited
      const { body } = visited
      const statements = ts.isBlock(body) ? body.statements : [factory.createReturnStatement(body)]
      const traced = factory.createBlock([report(), ...statements], true)
      return withBody(ts, factory, visited, traced)
    }
    return ts.visitNode(root, visit)
  }
}

function withBody(ts, f, node, body) {
  const { modifiers, asteriskToken, name, typeParameters, parameters, type } = node
  if (ts.isArrowFunction(node)) {
    return f.updateArrowFunction(
      node,
      modifiers,
      typeParameters,
      parameters,
      type,
      node.equalsGreaterThanToken,
      body,
    )
  }
  if (ts.isFunctionDeclaration(node)) {
    return f.updateFunctionDeclaration(
      node,
      modifiers,
      asteriskToken,
      name,
      typeParameters,
      parameters,
      type,
      body,
    )
  }
  if (ts.isFunctionExpression(node)) {
    return f.updateFunctionExpression(
      node,
      modifiers,
      asteriskToken,
      name,
      typeParameters,
      parameters,
      type,
      body,
    )
  }
  if (ts.isMethodDeclaration(node)) {
    const { questionToken } = node
    return f.updateMethodDeclaration(
      node,
      modifiers,
      asteriskToken,
      name,
      questionToken,
      typeParameters,
      parameters,
      type,
      body,
    )
  }
  if (ts.isConstructorDeclaration(node))
    return f.updateConstructorDeclaration(node, modifiers, parameters, body)
  if (ts.isGetAccessor(node))
    return f.updateGetAccessorDeclaration(node, modifiers, name, parameters, type, body)
  if (ts.isSetAccessor(node)) return f.updateSetAccessorDeclaration(node, modifiers, name, parameters, body)
  throw new Error(`measure-way: cannot trace a ${ts.SyntaxKind[node.kind]}`)
}

/** Runs in a separate process: tracks one event, and prints as JSON the files whose functions have run. */
async function run(folder, client) {
  let order
  globalThis.way = (file) => order?.push(file)
  const { Analytics } = await import(pathToFileURL(join(folder, 'index.js')).href)
  const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const httpClient = async () => ({ status: 200, statusText: 'OK', headers: {} })
  const analytics = new Analytics({
    writeKey: 'measured',
    host: `http://127.0.0.1:${server.address().port}`,
    flushAt: 1,
    ...(client === 'stub' && { httpClient }),
  })
  const track = (callback) =>
    analytics.track({ userId: 'u', event: 'Measured', properties: { n: 1 } }, callback)
  // The first event loads modules. Its remaining work must end before the next event is traced.
  await new Promise((done) => track(done))
  for (let turn = 0; turn < 100; turn++) await new Promise((done) => setImmediate(done))

  const session = new Session()
  session.connect()
  let taken
  const post = (method, params) =>
    session.post(method, params, (error, result) => {
      if (error !== null) throw error
      taken = result
    })
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const take = () => {
    post('Profiler.takePreciseCoverage')
    return taken.result.flatMap(({ url, functions }) =>
      url.startsWith(pathToFileURL(folder).href)
        ? functions
            .filter(({ ranges: [{ count }] }) => count > 0)
            .map(({ functionName, ranges: [{ startOffset }] }) => ({
              file: relative(folder, fileURLToPath(url)).replace(/\.js$/, '.ts'),
              id: `${url} ${functionName} ${startOffset}`,
            }))
        : [],
    )
  }
  take()
  order = []
  let inCall
  const whole = await new Promise((done) => {
    track(() => {
      const rest = take()
      const passed = order
      order = undefined
      done({ all: [...inCall, ...rest], order: passed })
    })
    inCall = take()
  })
  const count = (passed, key) => [...new Set(passed.map((one) => one[key]))]
  console.log(
    JSON.stringify({
      files: count(whole.all, 'file'),
      inCall: count(inCall, 'file'),
      functions: count(whole.all, 'id').length,
      functionsInCall: count(inCall, 'id').length,
      order: whole.order,
    }),
  )
  process.exit(0)
}
