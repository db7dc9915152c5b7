const { existsSync, readFileSync } = require('node:fs')
const { posix } = require('node:path')

// Imports run downward, floor by floor; everything may import domain/ and lib/, which import only themselves and generated/.
const floors = require('./test/floors.cjs')
const rooms = floors.flat()
const below = (room) => floors.slice(floors.findIndex((floor) => floor.includes(room)) + 1).flat()

// A package that declares no `exports` lets every file of it be imported: only its entry points may be. For the others Node sees to it.
const { dependencies, devDependencies, optionalDependencies } = require('./package.json')
const readPackage = (name) => {
  const file = `${__dirname}/node_modules/${name}/package.json`
  // A binary of another platform is not installed.
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { exports: {} }
}
const entriesOf = (name) => {
  const { exports, main = 'index.js', module = main, types = main, typings = types } = readPackage(name)
  return exports
    ? undefined
    : [main, module, types, typings].map((file) => posix.normalize(`node_modules/${name}/${file}`))
}
const openPackages = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  .map((name) => ({ name, entries: entriesOf(name) }))
  .filter(({ entries }) => entries)
// Ajv documents it as the entry for JSON Schema draft 2020-12.
const documentedEntries = ['node_modules/ajv/dist/2020.js', 'node_modules/uplot/dist/uPlot.min.css']

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      // An example is copied into a project that has the packages; the console is bundled, from the packages of the root.
      from: { pathNot: '^client/(examples|console)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'production-code-uses-production-packages',
      severity: 'error',
      from: { path: '^server/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    ...openPackages.map(({ name, entries }) => ({
      name: `only-the-entry-of-${name}`,
      severity: 'error',
      from: { path: '^(server|client)/' },
      to: {
        path: `^node_modules/${name}/`,
        pathNot: [...entries, ...documentedEntries].map((file) => `^${file.replaceAll('.', '\\.')}$`),
      },
    })),
    ...rooms.map((room) => ({
      name: `${room}-imports-downward`,
      severity: 'error',
      from: { path: `^server/${room}/` },
      to: {
        path: '^(server|client|test)/',
        pathNot: [
          `^server/${room}/`,
          ...below(room).map((name) => `^server/${name}/`),
          // They start and stop the parts that the settings describe.
          ...(['cli', 'app'].includes(room) ? ['^server/[^/]+\\.ts$'] : []),
        ],
      },
    })),
    {
      name: 'only-chain-proofs-makes-proofs',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/chain/proofs\\.ts$' },
      to: { path: '^server/domain/proof\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      // They take superlinear time: their input is bounded there first.
      name: 'only-the-decoding-room-imports-the-decoders-of-ethers',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/domain/decoding/' },
      to: {
        path: '^node_modules/ethers/',
        pathNot: '^node_modules/ethers/lib\\.(?:esm|commonjs)/(?:address|crypto|utils|wallet)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'only-main-starts-the-service',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/main\\.ts$' },
      to: { path: '^server/app\\.ts$' },
    },
    {
      name: 'a-command-is-run-and-not-imported',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/cli/' },
      to: { path: '^server/cli/' },
    },
    {
      name: 'the-client-knows-only-the-contract',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(server|test)/' },
    },
    {
      name: 'the-package-does-not-contain-the-console',
      severity: 'error',
      from: { path: '^client/', pathNot: '^client/console/' },
      to: { path: '^client/console/' },
    },
    {
      name: 'the-server-does-not-use-the-client',
      severity: 'error',
      from: { path: '^server/' },
      to: { path: '^(client|test)/' },
    },
    {
      name: 'one-file-knows-the-validator',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/api/http/contract\\.ts$' },
      to: { path: 'express-openapi-validator' },
    },
    {
      name: 'one-file-knows-the-metrics-library',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/telemetry/metrics\\.ts$' },
      to: { path: 'prom-client' },
    },
    {
      name: 'one-file-knows-the-tracing-library',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/telemetry/traces\\.ts$' },
      to: { path: '@opentelemetry' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
}
