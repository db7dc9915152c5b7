import type { Submission, SubmissionInput, SubmissionMode } from '../../index.ts'
import { Field, Select } from '../components/fields.tsx'
import type { Bind } from '../data/form.ts'
import { count } from '../data/format.ts'

const modes: Record<SubmissionMode, string> = {
  public: 'public',
  private: 'private',
  private_then_public: 'private, then public',
}

/** What a form has: no mode is the default of the network, or the previous one. */
export const submissionStart = { mode: '', after_blocks: '25' }

/** Undefined: none was chosen. */
export function submissionOf({ mode, after_blocks }: typeof submissionStart): SubmissionInput | undefined {
  if (mode === '') return undefined
  const chosen = mode as SubmissionMode
  return chosen === 'private_then_public' ? { mode: chosen, after_blocks: Number(after_blocks) } : { mode: chosen }
}

export const submissionValues = ({ mode, after_blocks }: Submission): typeof submissionStart => ({
  mode,
  after_blocks: after_blocks?.toString() ?? submissionStart.after_blocks,
})

export const submissionText = ({
  mode,
  after_blocks,
}: {
  mode: SubmissionMode
  after_blocks?: number | null
}): string => (mode === 'private_then_public' ? `${modes[mode]} after ${count(after_blocks ?? 0)} blocks` : modes[mode])

/** Who gets the signed bytes. `none`: what it means to choose nothing; absent: one has to be chosen. */
export const SubmissionFields = ({
  bind,
  none,
  only = ['public', 'private', 'private_then_public'],
}: {
  bind: Bind<keyof typeof submissionStart>
  none?: string
  only?: SubmissionMode[]
}) => (
  <>
    <Select
      label="Submission"
      {...(none !== undefined && { none })}
      values={only.map((mode) => [mode, modes[mode]] as const)}
      {...bind('mode')}
    />
    {bind('mode').value === 'private_then_public' && (
      <Field kind="whole" label="Blocks until it is public" required {...bind('after_blocks')} />
    )}
  </>
)
