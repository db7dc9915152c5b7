import { given, useForm } from '../data/form.ts'
import { nodesOf, relaysOf } from '../data/lines.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { SubmissionFields, submission_start, submissionOf } from './submission.tsx'

/** Creates a network, and says whether its nodes answer. */
export function CreateNetwork() {
  const { client, mayManageAll } = useSession()
  const start = {
    ...{
      name: '',
      chain_id: '',
      rpc_urls: '',
      symbol: '',
      required_confirmations: '',
      explorer_urls: '',
      private_rpc_urls: '',
    },
    ...submission_start,
  }
  const { values, bind, reset } = useForm(start)
  if (!mayManageAll) return null
  const submission = submissionOf(values)
  return (
    <Action
      label="Create a network"
      tone="primary"
      opened={reset}
      effect={<p>A network is an EVM chain and the URLs of its nodes.</p>}
      run={() =>
        client.post('/api/v1/networks', {
          body: {
            name: values.name,
            network_type: 'evm',
            chain_id: Number(values.chain_id),
            rpc_urls: nodesOf(values.rpc_urls),
            private_rpc_urls: relaysOf(values.private_rpc_urls),
            ...given({ symbol: values.symbol }),
            ...(submission && { submission }),
            ...(values.required_confirmations !== '' && {
              required_confirmations: Number(values.required_confirmations),
            }),
            ...(values.explorer_urls !== '' && { explorer_urls: [values.explorer_urls] }),
          },
        })
      }
      done={({ data: { name, warnings = [] } }) =>
        warnings.length === 0
          ? `Network ${name} is created, and its nodes answer.`
          : `Network ${name} is created, but its nodes do not work: ${warnings.join('; ')}`
      }
    >
      <label>
        Name
        <input required placeholder="polygon" autoComplete="off" spellCheck={false} {...bind('name')} />
        <span className="hint">Relayers and requests use this name.</span>
      </label>
      <label>
        Chain ID
        <input required placeholder="137" inputMode="numeric" pattern="[0-9]+" {...bind('chain_id')} />
        <span className="hint">The number of the chain (EIP-155). Each node has to report it.</span>
      </label>
      <label>
        Node URLs, one per line
        <textarea
          required
          rows={3}
          placeholder={'https://polygon.example/v3/KEY\nhttps://spare.example 50'}
          spellCheck={false}
          {...bind('rpc_urls')}
        />
        <span className="hint">A weight from 0 to 100 may follow a URL; without one, it is 100.</span>
      </label>
      <label>
        Symbol of its currency (optional)
        <input placeholder="POL" {...bind('symbol')} />
      </label>
      <label>
        Required confirmations (optional)
        <input placeholder="12" inputMode="numeric" pattern="[0-9]*" {...bind('required_confirmations')} />
        <span className="hint">Blocks until a transaction is final. Empty: the default of the chain.</span>
      </label>
      <label>
        URL of an explorer (optional)
        <input type="url" placeholder="https://polygonscan.com" {...bind('explorer_urls')} />
      </label>
      <label>
        Private relays, one URL per line (optional)
        <textarea
          rows={2}
          placeholder="https://relay.example eth_sendPrivateTransaction 25"
          spellCheck={false}
          {...bind('private_rpc_urls')}
        />
        <span className="hint">
          The method and a number of blocks may follow a URL: after so many, the relay drops a transaction.
        </span>
      </label>
      <SubmissionFields
        bind={bind}
        none="public, unless a request says otherwise"
        only={['private', 'private_then_public']}
      />
    </Action>
  )
}
