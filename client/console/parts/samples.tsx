import { curlSample } from '../../samples/curl.ts'
import type { ExampleCall } from '../../samples/operation.ts'
import { typescriptCall } from '../data/typescript-call.ts'
import { CopyButton } from './copy.tsx'

const shown_characters = 4_000

/** A request as curl and as TypeScript. */
export const Samples = ({ request }: { request: ExampleCall }) => (
  <section className="card" aria-label="Code samples">
    <h2>Code samples</h2>
    <p className="hint">The API key is read from the environment variable RELAYER_API_KEY.</p>
    <Sample language="curl" text={curlSample(location.origin, request)} />
    <Sample language="TypeScript" text={typescriptCall(location.origin, request)} />
  </section>
)

/** The text may have a megabyte: shows a part of it, and copies all of it. */
const Sample = ({ language, text }: { language: string; text: string }) => (
  <>
    <div className="bar">
      <h3>{language}</h3>
      <CopyButton text={text} label={`Copy the ${language} call`} />
    </div>
    <pre>
      {text.slice(0, shown_characters)}
      {text.length > shown_characters && '…'}
    </pre>
  </>
)
