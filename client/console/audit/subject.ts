import type { AuditEntry } from '../../index.ts'
import { paths } from '../data/paths.ts'
import {
  useAbis,
  useApiKeys,
  useFacilitators,
  useNetworks,
  useNotifications,
  usePools,
  useRelayers,
  useSigners,
  useSponsorships,
} from '../data/resources.ts'

interface Thing {
  id: string
  name?: string | undefined
  network?: string
}

/** What an entry is about. `to`: its page, or that of the list that has it. Without a name, it is an ID of nothing that there is now. */
interface Subject {
  name?: string | undefined
  to?: string
  /** Of its amounts. */
  network?: string | undefined
}

/** The kinds of things, which end the names of their operations: `createSigner`, `replacePoolFunding`. */
function useThings(): Record<string, [things: Thing[] | undefined, to: (id: string) => string, isNamed?: boolean]> {
  return {
    Signer: [useSigners().data, () => paths.signers],
    Network: [useNetworks().data?.map((its) => ({ ...its, network: its.name })), paths.network, true],
    Pool: [usePools().data, paths.pool],
    PoolFunding: [usePools().data, paths.pool],
    Notification: [useNotifications().data, paths.notification],
    Deliveries: [useNotifications().data, paths.notification],
    Facilitator: [useFacilitators().data, paths.facilitator],
    Sponsorship: [useSponsorships().data, () => paths.sponsorships],
    ApiKey: [useApiKeys().data, paths.apiKey, true],
    Abi: [useAbis().data, () => paths.networks, true],
  }
}

export function useSubject({ operation, subject, subject_name, relayer_id }: Omit<AuditEntry, 'failure' | 'changes'>) {
  const relayers = useRelayers().data
  const [kind, [things, to, isNamed] = [undefined, undefined, undefined]] =
    Object.entries(useThings()).find(([one]) => new RegExp(`^[a-z]+${one}$`).test(operation)) ?? []
  const thing = things?.find(({ id }) => id === subject)
  const network = thing?.network ?? relayers?.find(({ id }) => id === relayer_id)?.network
  const its: Subject = { network }
  if (subject === null) return its
  if (relayer_id !== null && subject_name !== null)
    return { ...its, name: subject_name, to: paths.transaction({ relayer_id, id: subject }) }
  const name = (isNamed && thing?.name) || (kind === 'Network' ? subject.replace(/^evm:/, '') : subject)
  if (thing && to) return { ...its, name, to: to(subject) }
  return kind === undefined ? its : { ...its, name }
}
