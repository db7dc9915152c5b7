// Written by test/generate-methods.ts from the contract. Do not change it by hand.

/** The members of each body: the name as --set takes it, the type, and the first sentence about it. */
export const bodyMembers: Record<string, [name: string, type: string, about: string][]> = {
 "post /api/v1/relayers/{relayer_id}/sign": [
  [
   "message",
   "text",
   "The text to sign."
  ],
  [
   "message_hex",
   "text",
   "The bytes to sign, as hex with 0x."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sign/batch": [
  [
   "items",
   "list of object (required)",
   "What to sign, in order."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sign-typed-data": [
  [
   "domain_separator",
   "text (required)",
   "The hash of the EIP-712 domain, 32 bytes of hex, with or without 0x."
  ],
  [
   "hash_struct_message",
   "text (required)",
   "The `hashStruct` of the message (EIP-712), 32 bytes of hex, with or without 0x."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sign-typed-data/full": [
  [
   "domain.name",
   "text",
   "The name of the application or contract."
  ],
  [
   "domain.version",
   "text",
   "The version of the domain."
  ],
  [
   "domain.chainId",
   "text or integer",
   "The chain id: a decimal string, hexadecimal digits with 0x, or an integer."
  ],
  [
   "domain.verifyingContract",
   "text",
   "The contract that verifies the signature."
  ],
  [
   "domain.salt",
   "text",
   "32 bytes of hex with 0x."
  ],
  [
   "types",
   "object (required)",
   "The struct types, by name."
  ],
  [
   "primaryType",
   "text (required)",
   "The name of the struct that `message` is."
  ],
  [
   "message",
   "object (required)",
   "The members of the primary type, with their values."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/transactions": [
  [
   "to",
   "text",
   ""
  ],
  [
   "value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The amount of the coin to send, in wei."
  ],
  [
   "data",
   "text",
   "Call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "gas_limit",
   "integer",
   "The gas limit."
  ],
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier, which pays the 30th, 50th, 85th or 99th percentile of recent priority fees."
  ],
  [
   "type",
   "0 | 1 | 2 | 4",
   "The type of the transaction (EIP-2718): 0 legacy, 1 access list, 2 fee market, 4 set code."
  ],
  [
   "gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The gas price of a transaction of type 0 or 1, in wei."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas of a transaction of type 2 or 4, in wei, including the priority fee."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas of a transaction of type 2 or 4, in wei."
  ],
  [
   "valid_until",
   "text",
   "After this time (RFC 3339) the transaction is not sent."
  ],
  [
   "reference",
   "text",
   "Your own reference, for example an order number."
  ],
  [
   "deduplication_id",
   "text",
   "At most one transaction of the chain is accepted with this id, whichever relayer, pool or API key sends it and whatever became of it: a second one is refused with 409 `already_sent`, which names the first if the API key may read it."
  ],
  [
   "metadata",
   "object",
   "Your own names and values, for example the customer and the purpose."
  ],
  [
   "ordering_key",
   "text",
   "For a pool: while a transaction with this key is unfinished, this one takes the same relayer, so their order on chain is the order of acceptance."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "access_list",
   "list of values",
   "The addresses and storage keys that the transaction uses (EIP-2930)."
  ],
  [
   "authorization_list",
   "list of values",
   "Signed authorizations of accounts (EIP-7702)."
  ],
  [
   "call.function",
   "text",
   "The name with the types of the arguments."
  ],
  [
   "call.args",
   "list of value",
   "The arguments in their order."
  ],
  [
   "call.abi",
   "list of text or object",
   "The contract's ABI: functions and errors in words (`function transfer(address to, uint256 amount)`, `error Paused(uint256 until)`), or the objects that compilers write."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/transactions/batch": [
  [
   "transactions",
   "list of object (required)",
   "The transactions, in the order of their nonces."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/transactions/dry-run": [
  [
   "to",
   "text",
   ""
  ],
  [
   "value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The amount of the coin to send, in wei."
  ],
  [
   "data",
   "text",
   "Call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "gas_limit",
   "integer",
   "The gas limit."
  ],
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier, which pays the 30th, 50th, 85th or 99th percentile of recent priority fees."
  ],
  [
   "type",
   "0 | 1 | 2 | 4",
   "The type of the transaction (EIP-2718): 0 legacy, 1 access list, 2 fee market, 4 set code."
  ],
  [
   "gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The gas price of a transaction of type 0 or 1, in wei."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas of a transaction of type 2 or 4, in wei, including the priority fee."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas of a transaction of type 2 or 4, in wei."
  ],
  [
   "valid_until",
   "text",
   "After this time (RFC 3339) the transaction is not sent."
  ],
  [
   "reference",
   "text",
   "Your own reference, for example an order number."
  ],
  [
   "deduplication_id",
   "text",
   "At most one transaction of the chain is accepted with this id, whichever relayer, pool or API key sends it and whatever became of it: a second one is refused with 409 `already_sent`, which names the first if the API key may read it."
  ],
  [
   "metadata",
   "object",
   "Your own names and values, for example the customer and the purpose."
  ],
  [
   "ordering_key",
   "text",
   "For a pool: while a transaction with this key is unfinished, this one takes the same relayer, so their order on chain is the order of acceptance."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "access_list",
   "list of values",
   "The addresses and storage keys that the transaction uses (EIP-2930)."
  ],
  [
   "authorization_list",
   "list of values",
   "Signed authorizations of accounts (EIP-7702)."
  ],
  [
   "call.function",
   "text",
   "The name with the types of the arguments."
  ],
  [
   "call.args",
   "list of value",
   "The arguments in their order."
  ],
  [
   "call.abi",
   "list of text or object",
   "The contract's ABI: functions and errors in words (`function transfer(address to, uint256 amount)`, `error Paused(uint256 until)`), or the objects that compilers write."
  ]
 ],
 "put /api/v1/relayers/{relayer_id}/transactions/{transaction_id}": [
  [
   "to",
   "text",
   ""
  ],
  [
   "data",
   "text",
   "Call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The amount of the coin to send, in wei."
  ],
  [
   "gas_limit",
   "integer",
   "The gas limit."
  ],
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier, which pays the 30th, 50th, 85th or 99th percentile of recent priority fees."
  ],
  [
   "type",
   "0 | 1 | 2 | 4",
   "The type of the transaction (EIP-2718): 0 legacy, 1 access list, 2 fee market, 4 set code."
  ],
  [
   "gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The gas price of a transaction of type 0 or 1, in wei."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas of a transaction of type 2 or 4, in wei, including the priority fee."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas of a transaction of type 2 or 4, in wei."
  ],
  [
   "valid_until",
   "text",
   "After this time (RFC 3339) the transaction is not sent."
  ],
  [
   "reference",
   "text",
   "Your own reference, for example an order number."
  ],
  [
   "metadata",
   "object",
   "Your own names and values, for example the customer and the purpose."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "access_list",
   "list of values",
   "The addresses and storage keys that the transaction uses (EIP-2930)."
  ],
  [
   "authorization_list",
   "list of values",
   "Signed authorizations of accounts (EIP-7702)."
  ],
  [
   "call.function",
   "text",
   "The name with the types of the arguments."
  ],
  [
   "call.args",
   "list of value",
   "The arguments in their order."
  ],
  [
   "call.abi",
   "list of text or object",
   "The contract's ABI: functions and errors in words (`function transfer(address to, uint256 amount)`, `error Paused(uint256 until)`), or the objects that compilers write."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up": [
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas, in wei; of a transaction with a gas price, the highest gas price."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas, in wei, as `max_fee_per_gas`."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sign-authorization": [
  [
   "address",
   "text (required)",
   "The contract whose code the account runs."
  ],
  [
   "nonce",
   "integer (required)",
   "The nonce of the relayer's account at the time when the authorization is applied."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sign-transaction": [
  [
   "unsigned_transaction",
   "text (required)",
   "The unsigned transaction, serialized as its type requires."
  ]
 ],
 "put /api/v1/relayers/{relayer_id}/funding": [
  [
   "treasury_id",
   "text (required)",
   "The treasury, a relayer on the same chain."
  ],
  [
   "asset",
   "text",
   "`coin`: the coin of the chain."
  ],
  [
   "min_balance",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "A balance below it starts a refill."
  ],
  [
   "target_balance",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The balance after a refill, above `min_balance`."
  ],
  [
   "max_amount_per_day",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The most that refills may cost the treasury in any 24 hours (in steps of five minutes, as `max_value_per_day`): their amounts and, for the coin of the chain, their highest fees."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest price of a refill per unit of gas, in wei."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/sweep": [
  [
   "to",
   "text (required)",
   "The address that gets the balance."
  ],
  [
   "asset",
   "text",
   "`coin`: the coin of the chain."
  ],
  [
   "keep_amount",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "What stays, in the smallest unit of the asset."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/nonce/reconcile": [
  [
   "chain_restarted",
   "boolean",
   "The test chain was reset: discard the nonces of the former chain."
  ],
  [
   "next_nonce",
   "integer",
   "The transaction count of the address from a source that the operator trusts."
  ]
 ],
 "post /api/v1/relayers/{relayer_id}/external-transactions/acknowledge": [
  [
   "transactions",
   "list of object (required)",
   "The transactions that were compared, as the list showed them."
  ]
 ],
 "post /api/v1/notifications": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "type",
   "webhook",
   "The kind of endpoint."
  ],
  [
   "url",
   "text (required)",
   "Where the deliveries go: an http or https URL without user name and password."
  ],
  [
   "signing_key",
   "text",
   "The secret that signs deliveries."
  ],
  [
   "filter.events",
   "list of transaction_update | transaction_waiting | relayer_disabled | relayer_enabled | relayer_low_balance | relayer_funding | payment_settled | payment_failed",
   "Only events of these names."
  ],
  [
   "filter.statuses",
   "list of pending | sent | submitted | mined | confirmed | failed | canceled | expired",
   "Of the events of transactions, only those whose transaction has one of these states."
  ]
 ],
 "patch /api/v1/notifications/{notification_id}": [
  [
   "type",
   "webhook",
   "The kind of endpoint, which does not change."
  ],
  [
   "url",
   "text",
   "Where the deliveries go: an http or https URL without user name and password."
  ],
  [
   "signing_key",
   "text",
   "Absent or null: unchanged."
  ],
  [
   "filter.events",
   "list of transaction_update | transaction_waiting | relayer_disabled | relayer_enabled | relayer_low_balance | relayer_funding | payment_settled | payment_failed",
   "Only events of these names."
  ],
  [
   "filter.statuses",
   "list of pending | sent | submitted | mined | confirmed | failed | canceled | expired",
   "Of the events of transactions, only those whose transaction has one of these states."
  ]
 ],
 "post /api/v1/notifications/{notification_id}/redeliver": [
  [
   "delivery_id",
   "text",
   "The delivery's id."
  ],
  [
   "status",
   "failed | pending (failed, pending)",
   ""
  ],
  [
   "since",
   "text (failed)",
   "The earliest event time (RFC 3339)."
  ]
 ],
 "post /api/v1/relayers": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "name",
   "text (required)",
   "What people call the relayer."
  ],
  [
   "network",
   "text (required)",
   "The network's name."
  ],
  [
   "network_type",
   "evm (required)",
   "The kind of chain."
  ],
  [
   "paused",
   "boolean (required)",
   "Whether it signs and sends nothing for now."
  ],
  [
   "signer_id",
   "text (required)",
   "The signer that holds its key."
  ],
  [
   "notification_id",
   "text",
   "One notification, in the place of `notification_ids`."
  ],
  [
   "policies.min_balance",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The relayer sends only while its balance is at least this amount, in wei."
  ],
  [
   "policies.gas_limit_estimation",
   "boolean",
   "Whether a node estimates the gas limit of transactions without one."
  ],
  [
   "policies.gas_price_cap",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas, in wei."
  ],
  [
   "policies.max_fee_multiplier",
   "integer",
   "The highest price per unit of gas, as a multiple of the market price."
  ],
  [
   "policies.max_fee_per_transaction",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fee of one signature, in wei: its gas limit times its highest price."
  ],
  [
   "policies.max_pending",
   "integer",
   "The highest number of unfinished transactions (`pending`, `sent`, `submitted`, `mined`)."
  ],
  [
   "policies.max_pending_bytes",
   "integer",
   "The highest total size of the call data of unfinished transactions, in bytes."
  ],
  [
   "policies.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee of all signatures in any 24 hours, in wei, counted as in `max_fee_per_transaction` when a transaction is accepted, in steps of five minutes as in `max_value_per_day`."
  ],
  [
   "policies.whitelist_receivers",
   "list of text",
   "The only allowed recipients."
  ],
  [
   "policies.eip1559_pricing",
   "boolean",
   "True: EIP-1559 prices."
  ],
  [
   "policies.allowed_functions",
   "list of object",
   "The functions of a recipient that may be called."
  ],
  [
   "policies.max_value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest value of one transaction, in wei."
  ],
  [
   "policies.max_value_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total value of all transactions in any 24 hours, in wei, counted when they are accepted, in steps of five minutes (so up to five minutes longer than a day)."
  ],
  [
   "policies.token_limits",
   "list of object",
   "Limits on ERC-20 tokens, in the smallest unit of the token."
  ],
  [
   "policies.max_gap_fills_per_hour",
   "integer",
   "The highest number of transfers of 0 wei to itself per hour that the relayer makes without a request: to fill nonces without a transaction below a signed nonce, and to use the nonces of transactions that can never be accepted."
  ],
  [
   "policies.allow_transactions",
   "boolean",
   "Whether the relayer accepts and signs new transactions and authorizations."
  ],
  [
   "policies.allow_messages",
   "boolean",
   "Whether the relayer signs messages (EIP-191)."
  ],
  [
   "policies.allow_blind_typed_data",
   "boolean",
   "Whether the relayer signs typed data from hashes."
  ],
  [
   "policies.allow_sign_transaction",
   "boolean",
   "Whether the relayer signs transactions without sending them."
  ],
  [
   "policies.allow_authorizations",
   "boolean",
   "Whether the relayer signs authorizations and sends transactions with authorizations (EIP-7702)."
  ],
  [
   "policies.allowed_delegates",
   "list of text",
   "The only contracts whose code the relayer's account may be authorized to run (EIP-7702)."
  ],
  [
   "policies.allowed_domain_separators",
   "list of text",
   "The only EIP-712 domains for which typed data is signed, from hashes or in full."
  ],
  [
   "custom_rpc_urls",
   "list of text or object",
   "RPC endpoints of this relayer, in place of those of its network."
  ],
  [
   "notification_ids",
   "list of text",
   "The notifications that receive the relayer's events, each those that its `filter` allows."
  ]
 ],
 "patch /api/v1/relayers/{relayer_id}": [
  [
   "name",
   "text",
   "What people call the relayer."
  ],
  [
   "paused",
   "boolean",
   "Whether it signs and sends nothing for now."
  ],
  [
   "notification_id",
   "text",
   "One notification in the place of all; null: none."
  ],
  [
   "policies.min_balance",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The relayer sends only while its balance is at least this amount, in wei."
  ],
  [
   "policies.gas_limit_estimation",
   "boolean",
   "Whether a node estimates the gas limit of transactions without one."
  ],
  [
   "policies.gas_price_cap",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas, in wei."
  ],
  [
   "policies.max_fee_multiplier",
   "integer",
   "The highest price per unit of gas, as a multiple of the market price."
  ],
  [
   "policies.max_fee_per_transaction",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fee of one signature, in wei: its gas limit times its highest price."
  ],
  [
   "policies.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee of all signatures in any 24 hours, in wei, counted as in `max_fee_per_transaction` when a transaction is accepted, in steps of five minutes as in `max_value_per_day`."
  ],
  [
   "policies.max_pending",
   "integer",
   "The highest number of unfinished transactions (`pending`, `sent`, `submitted`, `mined`)."
  ],
  [
   "policies.max_pending_bytes",
   "integer",
   "The highest total size of the call data of unfinished transactions, in bytes."
  ],
  [
   "policies.whitelist_receivers",
   "list of text",
   "The only allowed recipients."
  ],
  [
   "policies.eip1559_pricing",
   "boolean",
   "True: EIP-1559 prices."
  ],
  [
   "policies.allowed_functions",
   "list of object",
   "The functions of a recipient that may be called."
  ],
  [
   "policies.max_value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest value of one transaction, in wei."
  ],
  [
   "policies.max_value_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total value of all transactions in any 24 hours, in wei, counted when they are accepted, in steps of five minutes (so up to five minutes longer than a day)."
  ],
  [
   "policies.token_limits",
   "list of object",
   "Limits on ERC-20 tokens, in the smallest unit of the token."
  ],
  [
   "policies.max_gap_fills_per_hour",
   "integer",
   "The highest number of transfers of 0 wei to itself per hour that the relayer makes without a request: to fill nonces without a transaction below a signed nonce, and to use the nonces of transactions that can never be accepted."
  ],
  [
   "policies.allow_transactions",
   "boolean",
   "Whether the relayer accepts and signs new transactions and authorizations."
  ],
  [
   "policies.allow_messages",
   "boolean",
   "Whether the relayer signs messages (EIP-191)."
  ],
  [
   "policies.allow_blind_typed_data",
   "boolean",
   "Whether the relayer signs typed data from hashes."
  ],
  [
   "policies.allow_sign_transaction",
   "boolean",
   "Whether the relayer signs transactions without sending them."
  ],
  [
   "policies.allow_authorizations",
   "boolean",
   "Whether the relayer signs authorizations and sends transactions with authorizations (EIP-7702)."
  ],
  [
   "policies.allowed_delegates",
   "list of text",
   "The only contracts whose code the relayer's account may be authorized to run (EIP-7702)."
  ],
  [
   "policies.allowed_domain_separators",
   "list of text",
   "The only EIP-712 domains for which typed data is signed, from hashes or in full."
  ],
  [
   "custom_rpc_urls",
   "list of text or object",
   "The relayer's own nodes, in the place of all that there are."
  ],
  [
   "notification_ids",
   "list of text",
   "The notifications that receive the relayer's events, each those that its `filter` allows."
  ]
 ],
 "post /api/v1/signers": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "type",
   "plain | keystore | generated | aws_kms | google_cloud_kms | azure_key_vault | pkcs11 | remote | vault (required)",
   ""
  ],
  [
   "config.key",
   "text (plain)",
   "The private key, 32 bytes of hex, with or without 0x."
  ],
  [
   "config.keystore",
   "object (keystore)",
   "A Web3 Secret Storage document, version 3."
  ],
  [
   "config.passphrase",
   "text (keystore)",
   "The passphrase of the keystore."
  ],
  [
   "config",
   "object (generated)",
   "An empty object."
  ],
  [
   "config.region",
   "text (aws_kms)",
   "The region of the key."
  ],
  [
   "config.key_id",
   "text (aws_kms, pkcs11)",
   ""
  ],
  [
   "config.endpoint",
   "text (aws_kms, google_cloud_kms)",
   ""
  ],
  [
   "config.key_version",
   "text (google_cloud_kms, azure_key_vault)",
   ""
  ],
  [
   "config.service_account",
   "object (google_cloud_kms)",
   "The JSON key of a service account, as Google Cloud creates it."
  ],
  [
   "config.vault_url",
   "text (azure_key_vault)",
   "The URL of the vault or the managed HSM."
  ],
  [
   "config.key_name",
   "text (azure_key_vault)",
   "The name of the key."
  ],
  [
   "config.client_id",
   "text (azure_key_vault)",
   ""
  ],
  [
   "config.tenant_id",
   "text (azure_key_vault)",
   "The id of the tenant, a UUID."
  ],
  [
   "config.client_secret",
   "text (azure_key_vault)",
   "The secret of the application."
  ],
  [
   "config.module",
   "text (pkcs11)",
   "The path of the module (a shared library), as the setting PKCS11_MODULES has it."
  ],
  [
   "config.token_label",
   "text (pkcs11)",
   "The label of the token."
  ],
  [
   "config.key_label",
   "text (pkcs11)",
   "The label (CKA_LABEL) of the private and of the public key."
  ],
  [
   "config.pin",
   "text (pkcs11)",
   "The PIN of the token's user."
  ],
  [
   "config.url",
   "text (remote, vault)",
   ""
  ],
  [
   "config.address",
   "text (remote)",
   "The address of the key."
  ],
  [
   "config.interface",
   "rest | json_rpc (remote)",
   "`rest` (the default): `POST /api/v1/eth1/sign/{identifier}`, which signs everything."
  ],
  [
   "config.headers",
   "object (remote)",
   "Headers of every request, for example `Authorization`."
  ],
  [
   "config.ca_certificate",
   "text (remote)",
   "The certificates of the authorities that the signer's certificate is checked against, in PEM."
  ],
  [
   "config.client_identity",
   "object (remote)",
   "What the service presents to the signer (mutual TLS)."
  ],
  [
   "config.namespace",
   "text (vault)",
   "The namespace (Vault Enterprise, HCP Vault, OpenBao)."
  ],
  [
   "config.mount",
   "text (vault)",
   "The mount of the secrets engine."
  ],
  [
   "config.path",
   "text (vault)",
   "The path of the secret within the mount."
  ],
  [
   "config.field",
   "text (vault)",
   "The field of the secret that holds the private key, as 64 hex digits."
  ],
  [
   "config.token",
   "text (vault)",
   "A token that may read the secret."
  ],
  [
   "config.role_id",
   "text (vault)",
   "The RoleID of an AppRole, mounted at `approle`."
  ],
  [
   "config.secret_id",
   "text (vault)",
   "The SecretID."
  ]
 ],
 "post /api/v1/networks": [
  [
   "name",
   "text (required)",
   "The name, by which relayers and pools refer to it: like an id, at most 124 characters."
  ],
  [
   "network_type",
   "evm (required)",
   "The kind of chain."
  ],
  [
   "chain_id",
   "integer (required)",
   "The chain id (EIP-155)."
  ],
  [
   "rpc_urls",
   "list of text or object (required)",
   "The nodes, at most 20."
  ],
  [
   "symbol",
   "text",
   "The symbol of the coin, for example `ETH`."
  ],
  [
   "required_confirmations",
   "integer",
   "The number of blocks, including its own, that confirm a transaction."
  ],
  [
   "average_blocktime_ms",
   "integer",
   "The usual time between blocks, in milliseconds."
  ],
  [
   "is_testnet",
   "boolean",
   "Whether the coin has no worth."
  ],
  [
   "explorer_urls",
   "list of text",
   "The addresses of block explorers."
  ],
  [
   "features",
   "list of text",
   "`op_stack`: transactions also pay a data fee, which the contract GasPriceOracle tells, and are refused (503) while it tells none; known chains of the OP stack need no feature."
  ],
  [
   "tags",
   "list of text",
   "Your own words."
  ],
  [
   "private_rpc_urls",
   "list of text or object",
   "Private relays, which pass a transaction to builders of blocks and not to the public pool, for example https://rpc.flashbots.net/fast or https://rpc.mevblocker.io/fullprivacy."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "min_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The least priority fee that the nodes take, in wei per unit of gas, where they suggest less: the service pays no less by itself."
  ],
  [
   "min_gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The least price that the nodes take, in wei per unit of gas; otherwise as `min_priority_fee_per_gas`."
  ],
  [
   "coin_token.address",
   "text",
   "The address of the token."
  ],
  [
   "coin_token.decimals",
   "integer",
   "The decimals of the token."
  ]
 ],
 "patch /api/v1/networks/{network_id}": [
  [
   "rpc_urls",
   "list of text or object",
   "The nodes, in the place of all that there are."
  ],
  [
   "symbol",
   "text",
   "The symbol of the coin."
  ],
  [
   "required_confirmations",
   "integer",
   "Null: the default of the chain id."
  ],
  [
   "average_blocktime_ms",
   "integer",
   "The usual time between blocks, in milliseconds."
  ],
  [
   "is_testnet",
   "boolean",
   "Whether the coin has no worth."
  ],
  [
   "explorer_urls",
   "list of text",
   "In the place of all that there are."
  ],
  [
   "features",
   "list of text",
   "`op_stack`: transactions also pay a data fee, which the contract GasPriceOracle tells, and are refused (503) while it tells none; known chains of the OP stack need no feature."
  ],
  [
   "tags",
   "list of text",
   "In the place of all that there are."
  ],
  [
   "private_rpc_urls",
   "list of text or object",
   "The private relays, in the place of all that there are."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "min_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The least priority fee that the nodes take, in wei per unit of gas, where they suggest less: the service pays no less by itself."
  ],
  [
   "min_gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The least price that the nodes take, in wei per unit of gas; otherwise as `min_priority_fee_per_gas`."
  ],
  [
   "coin_token.address",
   "text",
   "The address of the token."
  ],
  [
   "coin_token.decimals",
   "integer",
   "The decimals of the token."
  ]
 ],
 "post /api/v1/pools": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "name",
   "text",
   "What people call the pool."
  ],
  [
   "network",
   "text (required)",
   "The network's name."
  ],
  [
   "relayer_ids",
   "list of text (required)",
   "The relayers of the pool, all on its network."
  ],
  [
   "weights",
   "object",
   "The shares of relayers of the pool, by their ids."
  ],
  [
   "policies.max_value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest value of one transaction, in wei."
  ],
  [
   "policies.max_value_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total value of all transactions in any 24 hours, in wei, counted when they are accepted, in steps of five minutes (so up to five minutes longer than a day)."
  ],
  [
   "policies.whitelist_receivers",
   "list of text",
   "The only allowed recipients."
  ],
  [
   "policies.allowed_functions",
   "list of object",
   "The functions of a recipient that may be called."
  ],
  [
   "policies.token_limits",
   "list of object",
   "Limits on ERC-20 tokens, in the smallest unit of the token."
  ]
 ],
 "patch /api/v1/pools/{pool_id}": [
  [
   "name",
   "text",
   "What people call the pool."
  ],
  [
   "relayer_ids",
   "list of text",
   "The relayers of the pool, all on its network."
  ],
  [
   "weights",
   "object",
   "The shares of relayers of the pool, by their ids."
  ],
  [
   "policies.max_value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest value of one transaction, in wei."
  ],
  [
   "policies.max_value_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total value of all transactions in any 24 hours, in wei, counted when they are accepted, in steps of five minutes (so up to five minutes longer than a day)."
  ],
  [
   "policies.whitelist_receivers",
   "list of text",
   "The only allowed recipients."
  ],
  [
   "policies.allowed_functions",
   "list of object",
   "The functions of a recipient that may be called."
  ],
  [
   "policies.token_limits",
   "list of object",
   "Limits on ERC-20 tokens, in the smallest unit of the token."
  ]
 ],
 "post /api/v1/pools/{pool_id}/transactions": [
  [
   "to",
   "text",
   ""
  ],
  [
   "value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The amount of the coin to send, in wei."
  ],
  [
   "data",
   "text",
   "Call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "gas_limit",
   "integer",
   "The gas limit."
  ],
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier, which pays the 30th, 50th, 85th or 99th percentile of recent priority fees."
  ],
  [
   "type",
   "0 | 1 | 2 | 4",
   "The type of the transaction (EIP-2718): 0 legacy, 1 access list, 2 fee market, 4 set code."
  ],
  [
   "gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The gas price of a transaction of type 0 or 1, in wei."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas of a transaction of type 2 or 4, in wei, including the priority fee."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas of a transaction of type 2 or 4, in wei."
  ],
  [
   "valid_until",
   "text",
   "After this time (RFC 3339) the transaction is not sent."
  ],
  [
   "reference",
   "text",
   "Your own reference, for example an order number."
  ],
  [
   "deduplication_id",
   "text",
   "At most one transaction of the chain is accepted with this id, whichever relayer, pool or API key sends it and whatever became of it: a second one is refused with 409 `already_sent`, which names the first if the API key may read it."
  ],
  [
   "metadata",
   "object",
   "Your own names and values, for example the customer and the purpose."
  ],
  [
   "ordering_key",
   "text",
   "For a pool: while a transaction with this key is unfinished, this one takes the same relayer, so their order on chain is the order of acceptance."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "access_list",
   "list of values",
   "The addresses and storage keys that the transaction uses (EIP-2930)."
  ],
  [
   "authorization_list",
   "list of values",
   "Signed authorizations of accounts (EIP-7702)."
  ],
  [
   "call.function",
   "text",
   "The name with the types of the arguments."
  ],
  [
   "call.args",
   "list of value",
   "The arguments in their order."
  ],
  [
   "call.abi",
   "list of text or object",
   "The contract's ABI: functions and errors in words (`function transfer(address to, uint256 amount)`, `error Paused(uint256 until)`), or the objects that compilers write."
  ]
 ],
 "post /api/v1/pools/{pool_id}/transactions/batch": [
  [
   "transactions",
   "list of object (required)",
   "The transactions, in the order of their nonces."
  ]
 ],
 "post /api/v1/pools/{pool_id}/transactions/dry-run": [
  [
   "to",
   "text",
   ""
  ],
  [
   "value",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The amount of the coin to send, in wei."
  ],
  [
   "data",
   "text",
   "Call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "gas_limit",
   "integer",
   "The gas limit."
  ],
  [
   "speed",
   "safe_low | average | fast | fastest",
   "The fee tier, which pays the 30th, 50th, 85th or 99th percentile of recent priority fees."
  ],
  [
   "type",
   "0 | 1 | 2 | 4",
   "The type of the transaction (EIP-2718): 0 legacy, 1 access list, 2 fee market, 4 set code."
  ],
  [
   "gas_price",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The gas price of a transaction of type 0 or 1, in wei."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest price per unit of gas of a transaction of type 2 or 4, in wei, including the priority fee."
  ],
  [
   "max_priority_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest priority fee per unit of gas of a transaction of type 2 or 4, in wei."
  ],
  [
   "valid_until",
   "text",
   "After this time (RFC 3339) the transaction is not sent."
  ],
  [
   "reference",
   "text",
   "Your own reference, for example an order number."
  ],
  [
   "deduplication_id",
   "text",
   "At most one transaction of the chain is accepted with this id, whichever relayer, pool or API key sends it and whatever became of it: a second one is refused with 409 `already_sent`, which names the first if the API key may read it."
  ],
  [
   "metadata",
   "object",
   "Your own names and values, for example the customer and the purpose."
  ],
  [
   "ordering_key",
   "text",
   "For a pool: while a transaction with this key is unfinished, this one takes the same relayer, so their order on chain is the order of acceptance."
  ],
  [
   "submission.mode",
   "public | private | private_then_public",
   "Which nodes get the signed bytes."
  ],
  [
   "submission.after_blocks",
   "integer",
   "After how many blocks it is made public."
  ],
  [
   "access_list",
   "list of values",
   "The addresses and storage keys that the transaction uses (EIP-2930)."
  ],
  [
   "authorization_list",
   "list of values",
   "Signed authorizations of accounts (EIP-7702)."
  ],
  [
   "call.function",
   "text",
   "The name with the types of the arguments."
  ],
  [
   "call.args",
   "list of value",
   "The arguments in their order."
  ],
  [
   "call.abi",
   "list of text or object",
   "The contract's ABI: functions and errors in words (`function transfer(address to, uint256 amount)`, `error Paused(uint256 until)`), or the objects that compilers write."
  ]
 ],
 "put /api/v1/pools/{pool_id}/funding": [
  [
   "treasury_id",
   "text (required)",
   "The treasury, a relayer on the same chain."
  ],
  [
   "asset",
   "text",
   "`coin`: the coin of the chain."
  ],
  [
   "min_balance",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "A balance below it starts a refill."
  ],
  [
   "target_balance",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The balance after a refill, above `min_balance`."
  ],
  [
   "max_amount_per_day",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The most that refills may cost the treasury in any 24 hours (in steps of five minutes, as `max_value_per_day`): their amounts and, for the coin of the chain, their highest fees."
  ],
  [
   "max_fee_per_gas",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest price of a refill per unit of gas, in wei."
  ]
 ],
 "post /api/v1/abis": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "network",
   "text (required)",
   "The network's name."
  ],
  [
   "address",
   "text (required)",
   "The address of the contract; of a proxy its own, with the ABI of what is behind it."
  ],
  [
   "name",
   "text",
   "What people call the contract."
  ],
  [
   "abi",
   "list of text or object (required)",
   "Functions, errors and events in words (`function transfer(address to, uint256 amount)`), or the objects that compilers write."
  ]
 ],
 "patch /api/v1/problems/{problem_id}": [
  [
   "acknowledgement.minutes",
   "integer",
   "For how long, at most 30 days."
  ],
  [
   "acknowledgement.note",
   "text",
   "What the person wants to say of it."
  ]
 ],
 "post /api/v1/sponsorships": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "relayer_id",
   "text",
   "The relayer that sends the calls and pays for them."
  ],
  [
   "targets",
   "list of object",
   "The functions that are paid for, by contract."
  ],
  [
   "forwarders",
   "list of text",
   "Contracts that forward signed requests (ERC-2771), with the interface of OpenZeppelin Contracts 5."
  ],
  [
   "delegates",
   "list of text",
   "The code that users' accounts may run (EIP-7702), with the interface of ERC-7821."
  ],
  [
   "keyed_nonce_delegates",
   "list of text",
   "Those of `delegates` whose `opData` begins with a nonce of 32 bytes that has a key in its upper 192 bits, as in ERC-4337, and which check it."
  ],
  [
   "max_gas_per_call",
   "integer (required)",
   "The highest gas limit of one call."
  ],
  [
   "max_fee_per_call",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest fee of one call, in wei."
  ],
  [
   "max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest total fee in any 24 hours, in wei."
  ],
  [
   "origins",
   "list of text",
   "The pages from which browsers may call /api/v1/rpc."
  ],
  [
   "paused",
   "boolean",
   "Whether it accepts nothing for now."
  ],
  [
   "user_limits.max_calls_per_day",
   "integer",
   "The most calls of one user in any 24 hours."
  ],
  [
   "user_limits.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee of the calls of one user in any 24 hours, in wei."
  ],
  [
   "pool_id",
   "text",
   "The pool whose relayers send the calls and pay for them."
  ]
 ],
 "patch /api/v1/sponsorships/{sponsorship_id}": [
  [
   "targets",
   "list of object",
   "The functions that are paid for, by contract."
  ],
  [
   "forwarders",
   "list of text",
   "Contracts that forward signed requests (ERC-2771), with the interface of OpenZeppelin Contracts 5."
  ],
  [
   "delegates",
   "list of text",
   "The code that users' accounts may run (EIP-7702), with the interface of ERC-7821."
  ],
  [
   "keyed_nonce_delegates",
   "list of text",
   "Those of `delegates` whose `opData` begins with a nonce of 32 bytes that has a key in its upper 192 bits, as in ERC-4337, and which check it."
  ],
  [
   "max_gas_per_call",
   "integer",
   "The highest gas limit of one call."
  ],
  [
   "max_fee_per_call",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fee of one call, in wei."
  ],
  [
   "max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee in any 24 hours, in wei."
  ],
  [
   "origins",
   "list of text",
   "The pages from which browsers may call /api/v1/rpc."
  ],
  [
   "paused",
   "boolean",
   "Whether it accepts nothing for now."
  ],
  [
   "user_limits.max_calls_per_day",
   "integer",
   "The most calls of one user in any 24 hours."
  ],
  [
   "user_limits.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee of the calls of one user in any 24 hours, in wei."
  ]
 ],
 "post /api/v1/sponsorships/{sponsorship_id}/calls": [
  [
   "to",
   "text (required)",
   "A forwarder, a target, or the account of a user."
  ],
  [
   "data",
   "text (required)",
   "The call data, at most 130,848 bytes of hex, with or without 0x."
  ],
  [
   "authorization_list",
   "list of object",
   "The user's authorization (EIP-7702), if `to` is an account that does not run the code yet."
  ],
  [
   "user",
   "text",
   "Whose plain call it is, in the words of your server."
  ]
 ],
 "post /api/v1/facilitators": [
  [
   "id",
   "text",
   "The id."
  ],
  [
   "pool_id",
   "text (required)",
   "The pool whose relayers send the payments and pay for their gas."
  ],
  [
   "assets",
   "list of object (required)",
   "The tokens in which payers may pay, at least one."
  ],
  [
   "pay_to",
   "text (required)",
   "The address that every payment goes to."
  ],
  [
   "max_fee_per_payment",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest fee of one payment, in wei."
  ],
  [
   "max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei) (required)",
   "The highest total fee in any 24 hours, in wei."
  ],
  [
   "wait_seconds",
   "integer",
   "How long [Settle a payment](#/facilitators/settlepayment) waits until the payment is mined."
  ]
 ],
 "patch /api/v1/facilitators/{facilitator_id}": [
  [
   "assets",
   "list of object",
   "The tokens in which payers may pay, at least one."
  ],
  [
   "pay_to",
   "text",
   "The address that every payment goes to."
  ],
  [
   "max_fee_per_payment",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fee of one payment, in wei."
  ],
  [
   "max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest total fee in any 24 hours, in wei."
  ],
  [
   "wait_seconds",
   "integer",
   "How long [Settle a payment](#/facilitators/settlepayment) waits until the payment is mined."
  ]
 ],
 "post /api/v1/facilitators/{facilitator_id}/verify": [
  [
   "x402Version",
   "integer",
   "The version of x402."
  ],
  [
   "paymentPayload",
   "object (required)",
   "What the payer sent."
  ],
  [
   "paymentRequirements",
   "object (required)",
   "What the server asked for."
  ]
 ],
 "post /api/v1/facilitators/{facilitator_id}/settle": [
  [
   "x402Version",
   "integer",
   "The version of x402."
  ],
  [
   "paymentPayload",
   "object (required)",
   "What the payer sent."
  ],
  [
   "paymentRequirements",
   "object (required)",
   "What the server asked for."
  ]
 ],
 "post /api/v1/mcp": [
  [
   "jsonrpc",
   "2.0 (required)",
   "The version of JSON-RPC."
  ],
  [
   "id",
   "text or number",
   "The id of the request."
  ],
  [
   "method",
   "text (required)",
   "The method of MCP."
  ],
  [
   "params",
   "object",
   "Its parameters."
  ]
 ],
 "post /api/v1/api-keys": [
  [
   "name",
   "text (required)",
   "What people call the API key, 1 to 128 characters."
  ],
  [
   "scopes",
   "list of sign | send | read | notifications | manage (required)",
   "What the key may do."
  ],
  [
   "relayer_ids",
   "list of text",
   "The relayers that the key may use."
  ],
  [
   "pool_ids",
   "list of text",
   "Pools that the key may use without rights to their relayers: it sends through them, and reads their transactions."
  ],
  [
   "allowed_cidrs",
   "list of text",
   "The client addresses from which the key is accepted."
  ],
  [
   "rate_limit.per_second",
   "integer",
   "The sustained requests per second."
  ],
  [
   "rate_limit.burst",
   "integer",
   "The requests that may come at once."
  ],
  [
   "budget.assets",
   "list of object",
   "What it may move."
  ],
  [
   "budget.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fees of its transactions in any 24 hours, in wei, as `max_fee_per_day` of a relayer counts them."
  ],
  [
   "budget.max_transactions_per_hour",
   "integer",
   "The most transactions and signatures that move something, in any hour."
  ],
  [
   "budget.receivers",
   "list of text",
   "Who may receive: the receiver of the coin, the receiver or spender of a token, the contract of any other call."
  ],
  [
   "expires_at",
   "text",
   "The end of validity."
  ]
 ],
 "patch /api/v1/api-keys/{api_key_id}": [
  [
   "name",
   "text",
   "What people call the API key, 1 to 128 characters."
  ],
  [
   "scopes",
   "list of sign | send | read | notifications | manage",
   "What the key may do."
  ],
  [
   "relayer_ids",
   "list of text",
   "The relayers that the key may use, in the place of all that it may."
  ],
  [
   "pool_ids",
   "list of text",
   "The pools that the key may use, in the place of all that it may."
  ],
  [
   "allowed_cidrs",
   "list of text",
   "The client addresses from which the key is accepted, in the place of all."
  ],
  [
   "rate_limit.per_second",
   "integer",
   "The sustained requests per second."
  ],
  [
   "rate_limit.burst",
   "integer",
   "The requests that may come at once."
  ],
  [
   "budget.assets",
   "list of object",
   "What it may move, in the place of all that it may."
  ],
  [
   "budget.max_fee_per_day",
   "amount in wei, or with a unit (1ether, 50gwei)",
   "The highest fees of its transactions in any 24 hours, in wei, as `max_fee_per_day` of a relayer counts them."
  ],
  [
   "budget.max_transactions_per_hour",
   "integer",
   "The most transactions and signatures that move something, in any hour."
  ],
  [
   "budget.receivers",
   "list of text",
   "Who may receive: the receiver of the coin, the receiver or spender of a token, the contract of any other call."
  ],
  [
   "expires_at",
   "text",
   "The end of validity."
  ]
 ],
 "post /api/v1/api-keys/{api_key_id}/rotate": [
  [
   "previous_token_valid_seconds",
   "integer",
   "The time for which the previous token stays valid, in seconds."
  ]
 ]
}

/** The members that are amounts. */
export const amountMembers: ReadonlySet<string> = new Set(["value","gas_price","max_fee_per_gas","max_priority_fee_per_gas","min_balance","target_balance","max_amount_per_day","keep_amount","gas_price_cap","max_fee_per_transaction","max_fee_per_day","max_value","max_value_per_day","min_priority_fee_per_gas","min_gas_price","max_fee_per_call","max_fee_per_payment"])

/** The members that are secrets: the contract calls them writeOnly. */
export const secretMembers: ReadonlySet<string> = new Set(["signing_key","key","keystore","passphrase","private_key","client_secret","pin","headers","token","secret_id"])
