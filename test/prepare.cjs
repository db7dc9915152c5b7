const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')

// `npm ci` runs this. It builds the reference and the console if their tools are installed: with --omit=dev or --omit=optional (the
// bundler's binary is an optional package) they are not, and the service starts without the two pages. The runtime is an optional
// package too: without it, an older Node of the system does not run the tools' TypeScript.

const runsTypeScript = Number(process.versions.node.split('.')[0]) >= 24

const steps = [
  {
    script: 'docs',
    page: '/docs',
    isInstalled: () => runsTypeScript && existsSync('node_modules/@redocly/cli'),
  },
  {
    script: 'build:console',
    page: '/console',
    isInstalled: () => runsTypeScript && import('vite').then(Boolean, () => false),
  },
]

async function prepare() {
  for (const { script, page, isInstalled } of steps) {
    if (!(await isInstalled())) {
      process.stdout.write(
        `${page} is not built, because its tools or Node 24 are not installed: npm ci, then npm run ${script}\n`,
      )
      continue
    }
    const { status } = spawnSync(`npm run --silent ${script}`, { stdio: 'inherit', shell: true })
    if (status !== 0) process.exit(status ?? 1)
  }
}

void prepare()
