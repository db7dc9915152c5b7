/** The errors of ERC-20 and ERC-721 tokens (ERC-6093): selector, name, names of the arguments, and what they mean. */
const standard = [
  [
    'e450d38c',
    'ERC20InsufficientBalance',
    'sender balance needed',
    '{sender} has {balance}, the transfer needs {needed}',
  ],
  [
    'fb8f41b2',
    'ERC20InsufficientAllowance',
    'spender allowance needed',
    '{spender} may spend {allowance}, the transfer needs {needed}',
  ],
  ['96c6fd1e', 'ERC20InvalidSender', 'sender', '{sender} cannot send tokens'],
  ['ec442f05', 'ERC20InvalidReceiver', 'receiver', '{receiver} cannot receive tokens'],
  ['e602df05', 'ERC20InvalidApprover', 'approver', '{approver} cannot approve a spender'],
  ['94280d62', 'ERC20InvalidSpender', 'spender', '{spender} cannot be approved as a spender'],
  ['7e273289', 'ERC721NonexistentToken', 'tokenId', 'there is no token {tokenId}'],
  ['64283d7b', 'ERC721IncorrectOwner', 'sender tokenId owner', 'token {tokenId} belongs to {owner}, not to {sender}'],
  ['177e802f', 'ERC721InsufficientApproval', 'operator tokenId', '{operator} may not transfer token {tokenId}'],
  ['89c62b64', 'ERC721InvalidOwner', 'owner', '{owner} cannot own a token'],
  ['73c6ac6e', 'ERC721InvalidSender', 'sender', '{sender} cannot send a token'],
  ['64a0ae92', 'ERC721InvalidReceiver', 'receiver', '{receiver} cannot receive a token'],
  ['a9fbf51f', 'ERC721InvalidApprover', 'approver', '{approver} may not approve a transfer of the token'],
  ['5b08ba18', 'ERC721InvalidOperator', 'operator', '{operator} cannot be an operator'],
] as const

/** Arguments that are numbers; the others are addresses. */
const numbers = new Set(['balance', 'allowance', 'needed', 'tokenId'])

/** An error of a contract in a text. */
export interface ContractError {
  /** What means it in the text. */
  part: string
  /** As Solidity writes it. */
  signature: string
  /** What it means; `{name}` stands for an argument. */
  meaning: string
  args: Record<string, string>
}

/** The error that a text of the service has, where its meaning is known. `revertData`: of errors that no ABI of the service describes. */
export const contractErrorIn = (text: string, revertData?: string | null): ContractError | undefined =>
  namedIn(text) ?? panicIn(text) ?? undecodedIn(text, revertData ?? '')

function namedIn(text: string): ContractError | undefined {
  const [part = '', name, list = ''] = /\b(ERC\d+\w+)\(([^()]*)\)/.exec(text) ?? []
  const found = standard.find((one) => one[1] === name)
  const values = list.split(', ').map((one) => one.replace(/^\w+: /, ''))
  return found && errorOf(found, part, values)
}

function undecodedIn(text: string, revertData: string): ContractError | undefined {
  const [part] = /\bunknown custom error 0x[\da-f]{8} \(\d+ bytes of arguments\)/.exec(text) ?? []
  const found = standard.find(([selector]) => revertData.startsWith(`0x${selector}`))
  if (part === undefined || !found) return undefined
  const words = revertData.slice(10).match(/.{64}/g) ?? []
  const values = found[2]
    .split(' ')
    .map((name, index) =>
      numbers.has(name) ? `${BigInt(`0x${words[index] ?? '0'}`)}` : `0x${words[index]?.slice(24)}`,
    )
  return words.length === values.length ? errorOf(found, part, values) : undefined
}

function errorOf([, name, names, meaning]: (typeof standard)[number], part: string, values: string[]) {
  const named = names.split(' ').map((its, index) => [its, values[index] ?? ''] as const)
  if (values.length !== named.length) return undefined
  const signature = `${name}(${named.map(([its, value]) => `${its}: ${value}`).join(', ')})`
  return { part, signature, meaning, args: Object.fromEntries(named) }
}

/** Solidity: a fault of the contract itself. */
function panicIn(text: string): ContractError | undefined {
  const [part = '', code, meaning] = /\bpanic (0x[\da-f]+) \(([^()]+)\)/.exec(text) ?? []
  if (code === undefined) return undefined
  const isKnown = meaning !== 'no known code'
  return { part, signature: `Panic(${code})`, meaning: `${isKnown ? meaning : 'a fault'} in the contract`, args: {} }
}

/** The error with which a transaction failed, as Solidity writes it; undefined: the text says as much. */
export function signatureOf({ message, revert_data: data }: { message: string; revert_data: string | null }) {
  const found = contractErrorIn(message, data)
  return found?.signature ?? (data?.startsWith('0x08c379a0') ? `Error(${JSON.stringify(message)})` : undefined)
}
