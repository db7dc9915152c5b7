import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/*
 * Completes dist/, the files of a release: source and Dockerfile of the image, SBOM, provenance and SHA256SUMS. Everything is made of the
 * commit alone, so that two clones make the same bytes: no time of the build, no folder, no random id. `IMAGE_DIGESTS`: "node:26=sha256:…
 * node:26-slim=sha256:…" pins the base images of the Dockerfile, which no registry is asked for here.
 */
const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const run = (command: string, args: string[], encoding: 'utf8' | 'buffer' = 'utf8') =>
  execFileSync(command, args, { cwd: root, encoding, maxBuffer: 2 ** 28 })
const git = (...args: string[]) => String(run('git', args)).trim()
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

if (git('status', '--porcelain', '--untracked-files=no') !== '')
  throw new Error('A release is made of a commit: commit your changes first')
const commit = git('rev-parse', 'HEAD')
const committedAt = git('show', '--no-patch', '--format=%cI', 'HEAD')
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const write = (file: string, content: string | Uint8Array) => writeFileSync(join(dist, file), content)
const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const digests = new Map(
  (process.env.IMAGE_DIGESTS ?? '').split(/\s+/).map((pair) => pair.split('=') as [string, string]),
)
const bases: { name: string; digest: { sha256: string } | null }[] = []

/** The Dockerfile with the digests of its base images; it builds from the source archive. */
function pinnedDockerfile(): string {
  return readFileSync(join(root, 'Dockerfile'), 'utf8').replace(/^FROM (\S+)/gm, (line, image: string) => {
    const digest = digests.get(image)
    if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${digest} is no digest`)
    if (!bases.some((base) => base.name === image))
      bases.push({ name: image, digest: digest === undefined ? null : { sha256: digest.slice('sha256:'.length) } })
    return digest === undefined ? line : `FROM ${image}@${digest}`
  })
}

/** CycloneDX, of the packages that the service runs with. */
function sbom(): string {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only']
  const made = JSON.parse(String(run('npm', args)))
  // npm names the component by its folder, and gives each run an id and a time.
  made.metadata.component.name = name
  made.metadata.timestamp = new Date(committedAt).toISOString()
  delete made.serialNumber
  const id = sha256(JSON.stringify(made))
  const parts = [id.slice(0, 8), id.slice(8, 12), `8${id.slice(13, 16)}`, `8${id.slice(17, 20)}`, id.slice(20, 32)]
  return asJson({ ...made, serialNumber: `urn:uuid:${parts.join('-')}` })
}

/** In the form of SLSA; unsigned: whoever publishes the release signs SHA256SUMS. */
const provenance = (files: string[]) =>
  asJson({
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map((file) => ({ name: file, digest: { sha256: sha256(readFileSync(join(dist, file))) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'npm run release',
        externalParameters: { name, version },
        internalParameters: { node: process.version, npm: String(run('npm', ['--version'])).trim() },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: sha256(readFileSync(join(root, 'package-lock.json'))) } },
          ...bases.map((base) => ({ name: base.name, ...(base.digest && { digest: base.digest }) })),
        ],
      },
      runDetails: { builder: { id: 'npm run release' } },
    },
  })

/** The files of dist/, also those in folders. */
const filesIn = () =>
  readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dist, join(entry.parentPath, entry.name)))
    .sort()

// git writes the commit into server/build.json (.gitattributes).
write(
  `${name}-${version}.tar`,
  run('git', ['archive', '--format=tar', `--prefix=${name}-${version}/`, 'HEAD'], 'buffer'),
)
write('Dockerfile', pinnedDockerfile())
write('sbom.cdx.json', sbom())
write('provenance.json', provenance(filesIn()))
const files = filesIn()
write('SHA256SUMS', files.map((file) => `${sha256(readFileSync(join(dist, file)))}  ${file}\n`).join(''))
for (const { name: image, digest } of bases)
  if (digest === null)
    console.error(`dist/Dockerfile: ${image} is not pinned; give IMAGE_DIGESTS="${image}=sha256:..."`)
