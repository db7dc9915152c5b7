// The direction of imports: main -> service -> {http, operations, sending, webhooks, keys, evm, metrics, traces, store/sqlite}
// -> the ground floor (store/store.ts, store/rows.ts, operation.ts, observer.ts, token.ts, errors.ts, generated/). Siblings meet
// in service.ts only.
const siblings = ['http', 'operations', 'sending', 'webhooks', 'keys', 'evm', 'metrics', 'traces', 'store']
const ground = '^server/(store/(?:store|rows)|operation|observer|errors|token)\\.ts$'

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'production-code-uses-production-packages',
      severity: 'error',
      from: { path: '^server/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    ...siblings.map((folder) => ({
      name: `${folder}-meets-its-siblings-in-service`,
      severity: 'error',
      from: { path: `^server/${folder}/` },
      to: { path: '^(server|client|test)/', pathNot: [`^server/${folder}/`, ground] },
    })),
    {
      name: 'the-ground-floor-imports-nothing-above',
      severity: 'error',
      from: { path: ground },
      to: { path: '^server/', pathNot: [ground] },
    },
    {
      name: 'only-main-starts-the-service',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/main\\.ts$' },
      to: { path: '^server/service\\.ts$' },
    },
    {
      name: 'a-command-is-run-and-not-imported',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/commands/' },
      to: { path: '^server/commands/' },
    },
    {
      name: 'the-client-knows-only-the-contract',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(server|test)/' },
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
      from: { path: '^server/', pathNot: '^server/http/contract\\.ts$' },
      to: { path: 'express-openapi-validator' },
    },
    {
      name: 'one-file-knows-the-metrics-library',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/metrics/metrics\\.ts$' },
      to: { path: 'prom-client' },
    },
    {
      name: 'one-file-knows-the-tracing-library',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/traces/traces\\.ts$' },
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
