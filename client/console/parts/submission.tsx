import type { Submission, SubmissionMode } from '../../index.ts'
import type { Bind } from '../data/form.ts'
import { count } from '../data/format.ts'

const modes: Record<SubmissionMode, string> = {
  public: 'public',
  private: 'private',
  private_then_public: 'private, then public',
}

/** What a form has: no mode is the default of the network, or the previous one. */
export const submission_start = { mode: '', after_blocks: '25' }

/** Undefined: none was chosen. */
export function submissionOf({ mode, after_blocks }: typeof submission_start): Submission | undefined {
  if (mode === '') return undefined
  const its = mode as SubmissionMode
  return its === 'private_then_public' ? { mode: its, after_blocks: Number(after_blocks) } : { mode: its }
}

export const submissionValues = ({ mode, after_blocks }: Submission): typeof submission_start => ({
  mode,
  after_blocks: after_blocks?.toString() ?? submission_start.after_blocks,
})

export const submissionText = ({ mode, after_blocks }: Submission): string =>
  mode === 'private_then_public' ? `${modes[mode]} after ${count(after_blocks ?? 0)} blocks` : modes[mode]

/** Who gets the signed bytes. `none`: what it means to choose nothing; absent: one has to be chosen. */
export const SubmissionFields = ({
  bind,
  none,
  only = ['public', 'private', 'private_then_public'],
}: {
  bind: Bind<keyof typeof submission_start>
  none?: string
  only?: SubmissionMode[]
}) => (
  <>
    <label>
      Submission
      <select {...bind('mode')}>
        {none !== undefined && <option value="">{none}</option>}
        {only.map((mode) => (
          <option key={mode} value={mode}>
            {modes[mode]}
          </option>
        ))}
      </select>
    </label>
    {bind('mode').value === 'private_then_public' && (
      <label>
        Blocks until it is public
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('after_blocks')} />
      </label>
    )}
  </>
)
