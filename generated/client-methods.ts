// Written by test/generate-methods.ts from the contract. Do not change it by hand.
import type { Body, Data, Described, ItemOf, Once, Options } from '../client/contract-types.ts'

/** The operations of the contract by name: the parameters of the path in their order, the body, and options. */
export interface GeneratedMethods {
  signing: {
    /** Sign a message. */
    signMessage(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign', 'post'>>
    /** Sign several messages. */
    signBatch(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>>
    /** Sign hashed typed data. */
    signTypedData(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>>
    /** Sign typed data given in full. */
    signTypedDataFull(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>>
    /** Sign an authorization. */
    signAuthorization(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>>
    /** Sign a transaction without sending it. */
    signTransaction(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>>
  }
  transactions: {
    /** List a relayer's transactions. */
    list(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/transactions/'>, void, undefined>
    /** List the transactions of all relayers. */
    listAll(options?: Options<'/api/v1/transactions', 'get'>): AsyncGenerator<ItemOf<'/api/v1/transactions'>, void, undefined>
    /** Get a transaction by its id alone. */
    getById(transaction_id: string, options?: Options<'/api/v1/transactions/{transaction_id}', 'get'>): Promise<Data<'/api/v1/transactions/{transaction_id}', 'get'>>
    /** Explain a transaction. */
    explain(transaction_id: string, options?: Options<'/api/v1/transactions/{transaction_id}/explanation', 'get'>): Promise<Data<'/api/v1/transactions/{transaction_id}/explanation', 'get'>>
    /** Send a transaction. */
    send(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions', 'post'> & Once): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions', 'post'>>
    /** Send several transactions. */
    sendBatch(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'> & Once): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'>>
    /** Test a transaction without sending it. */
    dryRun(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>>
    /** Cancel all pending transactions. */
    cancelPending(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/pending', 'delete'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/pending', 'delete'>>
    /** Get a transaction by its nonce. */
    getByNonce(relayer_id: string, nonce: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'get'>>
    /** Get a transaction. */
    get(relayer_id: string, transaction_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'get'>>
    /** Replace a transaction. */
    replace(relayer_id: string, transaction_id: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>>
    /** Cancel a transaction. */
    cancel(relayer_id: string, transaction_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'delete'>): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'delete'>>
    /** Speed up a transaction. */
    speedUp(relayer_id: string, transaction_id: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'> & Once): Promise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'>>
    /** List the signed versions of a transaction. */
    listAttempts(relayer_id: string, transaction_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts'>, void, undefined>
  }
  relayers: {
    /** Get a relayer's balance. */
    getBalance(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/balance', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/balance', 'get'>>
    /** Get a relayer's status. */
    getStatus(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/status', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/status', 'get'>>
    /** Drain a relayer. */
    drain(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/drain', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/drain', 'post'>>
    /** Send all that is left. */
    sweep(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/sweep', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sweep', 'post'> & Once): Promise<Data<'/api/v1/relayers/{relayer_id}/sweep', 'post'>>
    /** Get a relayer's nonce state. */
    getNonce(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/nonce', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/nonce', 'get'>>
    /** Repair a relayer's nonces. */
    reconcileNonce(relayer_id: string, body?: Body<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>): Promise<Data<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>>
    /** List the transactions that the database does not know. */
    listUnknownTransactions(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/unknown-transactions', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/unknown-transactions'>, void, undefined>
    /** List relayers. */
    list(options?: Options<'/api/v1/relayers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers'>, void, undefined>
    /** Create a relayer. */
    create(body: Body<'/api/v1/relayers', 'post'>, options?: Options<'/api/v1/relayers', 'post'>): Promise<Data<'/api/v1/relayers', 'post'>>
    /** Get a relayer. */
    get(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}', 'get'>>
    /** Update a relayer. */
    update(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}', 'patch'>, options?: Options<'/api/v1/relayers/{relayer_id}', 'patch'>): Promise<Data<'/api/v1/relayers/{relayer_id}', 'patch'>>
    /** Delete a relayer. */
    delete(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}', 'delete'>): Promise<Data<'/api/v1/relayers/{relayer_id}', 'delete'>>
    /** List the queues of all relayers. */
    listQueues(options?: Options<'/api/v1/queues', 'get'>): AsyncGenerator<ItemOf<'/api/v1/queues'>, void, undefined>
    /** Get the activity of relayers. */
    getActivity(options?: Options<'/api/v1/activity', 'get'>): Promise<Data<'/api/v1/activity', 'get'>>
    /** Get what relayers spent on fees. */
    getSpending(options?: Options<'/api/v1/spending', 'get'>): AsyncGenerator<ItemOf<'/api/v1/spending'>, void, undefined>
    /** Get what the transactions of each API key cost. */
    getSpendingByCaller(options?: Options<'/api/v1/spending/callers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/spending/callers'>, void, undefined>
  }
  funding: {
    /** Get the funding of a relayer. */
    get(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'get'>): Promise<Data<'/api/v1/relayers/{relayer_id}/funding', 'get'>>
    /** Fund a relayer from another one. */
    set(relayer_id: string, body: Body<'/api/v1/relayers/{relayer_id}/funding', 'put'>, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'put'>): Promise<Data<'/api/v1/relayers/{relayer_id}/funding', 'put'>>
    /** End the funding of a relayer. */
    delete(relayer_id: string, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'delete'>): Promise<Data<'/api/v1/relayers/{relayer_id}/funding', 'delete'>>
    /** Get the funding of a pool. */
    getPool(pool_id: string, options?: Options<'/api/v1/pools/{pool_id}/funding', 'get'>): Promise<Data<'/api/v1/pools/{pool_id}/funding', 'get'>>
    /** Fund the relayers of a pool. */
    setPool(pool_id: string, body: Body<'/api/v1/pools/{pool_id}/funding', 'put'>, options?: Options<'/api/v1/pools/{pool_id}/funding', 'put'>): Promise<Data<'/api/v1/pools/{pool_id}/funding', 'put'>>
    /** End the funding of a pool. */
    deletePool(pool_id: string, options?: Options<'/api/v1/pools/{pool_id}/funding', 'delete'>): Promise<Data<'/api/v1/pools/{pool_id}/funding', 'delete'>>
  }
  notifications: {
    /** List notifications. */
    list(options?: Options<'/api/v1/notifications', 'get'>): AsyncGenerator<ItemOf<'/api/v1/notifications'>, void, undefined>
    /** Create a notification. */
    create(body: Body<'/api/v1/notifications', 'post'>, options?: Options<'/api/v1/notifications', 'post'>): Promise<Data<'/api/v1/notifications', 'post'>>
    /** Get a notification. */
    get(notification_id: string, options?: Options<'/api/v1/notifications/{notification_id}', 'get'>): Promise<Data<'/api/v1/notifications/{notification_id}', 'get'>>
    /** Update a notification. */
    update(notification_id: string, body: Body<'/api/v1/notifications/{notification_id}', 'patch'>, options?: Options<'/api/v1/notifications/{notification_id}', 'patch'>): Promise<Data<'/api/v1/notifications/{notification_id}', 'patch'>>
    /** Delete a notification. */
    delete(notification_id: string, options?: Options<'/api/v1/notifications/{notification_id}', 'delete'>): Promise<Data<'/api/v1/notifications/{notification_id}', 'delete'>>
    /** Get a notification's health. */
    getHealth(notification_id: string, options?: Options<'/api/v1/notifications/{notification_id}/health', 'get'>): Promise<Data<'/api/v1/notifications/{notification_id}/health', 'get'>>
    /** List deliveries. */
    listDeliveries(notification_id: string, options?: Options<'/api/v1/notifications/{notification_id}/deliveries', 'get'>): AsyncGenerator<ItemOf<'/api/v1/notifications/{notification_id}/deliveries'>, void, undefined>
    /** Redeliver deliveries. */
    redeliver(notification_id: string, body: Body<'/api/v1/notifications/{notification_id}/redeliver', 'post'>, options?: Options<'/api/v1/notifications/{notification_id}/redeliver', 'post'>): Promise<Data<'/api/v1/notifications/{notification_id}/redeliver', 'post'>>
    /** Send a test event. */
    test(notification_id: string, options?: Options<'/api/v1/notifications/{notification_id}/test', 'post'>): Promise<Data<'/api/v1/notifications/{notification_id}/test', 'post'>>
  }
  signers: {
    /** List signers. */
    list(options?: Options<'/api/v1/signers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/signers'>, void, undefined>
    /** Create a signer. */
    create(body: Body<'/api/v1/signers', 'post'>, options?: Options<'/api/v1/signers', 'post'>): Promise<Data<'/api/v1/signers', 'post'>>
    /** Get a signer. */
    get(signer_id: string, options?: Options<'/api/v1/signers/{signer_id}', 'get'>): Promise<Data<'/api/v1/signers/{signer_id}', 'get'>>
    /** Delete a signer. */
    delete(signer_id: string, options?: Options<'/api/v1/signers/{signer_id}', 'delete'>): Promise<Data<'/api/v1/signers/{signer_id}', 'delete'>>
  }
  networks: {
    /** List networks. */
    list(options?: Options<'/api/v1/networks', 'get'>): AsyncGenerator<ItemOf<'/api/v1/networks'>, void, undefined>
    /** Create a network. */
    create(body: Body<'/api/v1/networks', 'post'>, options?: Options<'/api/v1/networks', 'post'>): Promise<Data<'/api/v1/networks', 'post'>>
    /** Get a network. */
    get(network_id: string, options?: Options<'/api/v1/networks/{network_id}', 'get'>): Promise<Data<'/api/v1/networks/{network_id}', 'get'>>
    /** Update a network. */
    update(network_id: string, body: Body<'/api/v1/networks/{network_id}', 'patch'>, options?: Options<'/api/v1/networks/{network_id}', 'patch'>): Promise<Data<'/api/v1/networks/{network_id}', 'patch'>>
    /** Delete a network. */
    delete(network_id: string, options?: Options<'/api/v1/networks/{network_id}', 'delete'>): Promise<Data<'/api/v1/networks/{network_id}', 'delete'>>
    /** List the nodes of a network. */
    listNodes(network_id: string, options?: Options<'/api/v1/networks/{network_id}/nodes', 'get'>): Promise<Data<'/api/v1/networks/{network_id}/nodes', 'get'>>
  }
  pools: {
    /** List pools. */
    list(options?: Options<'/api/v1/pools', 'get'>): AsyncGenerator<ItemOf<'/api/v1/pools'>, void, undefined>
    /** Create a pool. */
    create(body: Body<'/api/v1/pools', 'post'>, options?: Options<'/api/v1/pools', 'post'>): Promise<Data<'/api/v1/pools', 'post'>>
    /** Get a pool. */
    get(pool_id: string, options?: Options<'/api/v1/pools/{pool_id}', 'get'>): Promise<Data<'/api/v1/pools/{pool_id}', 'get'>>
    /** Update a pool. */
    update(pool_id: string, body: Body<'/api/v1/pools/{pool_id}', 'patch'>, options?: Options<'/api/v1/pools/{pool_id}', 'patch'>): Promise<Data<'/api/v1/pools/{pool_id}', 'patch'>>
    /** Delete a pool. */
    delete(pool_id: string, options?: Options<'/api/v1/pools/{pool_id}', 'delete'>): Promise<Data<'/api/v1/pools/{pool_id}', 'delete'>>
    /** Change the weight of a relayer in a pool. */
    updateRelayer(pool_id: string, relayer_id: string, body: Body<'/api/v1/pools/{pool_id}/relayers/{relayer_id}', 'patch'>, options?: Options<'/api/v1/pools/{pool_id}/relayers/{relayer_id}', 'patch'>): Promise<Data<'/api/v1/pools/{pool_id}/relayers/{relayer_id}', 'patch'>>
    /** Send a transaction through a pool. */
    sendTransaction(pool_id: string, body: Body<'/api/v1/pools/{pool_id}/transactions', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions', 'post'> & Once): Promise<Data<'/api/v1/pools/{pool_id}/transactions', 'post'>>
    /** Send several transactions through a pool. */
    sendTransactionBatch(pool_id: string, body: Body<'/api/v1/pools/{pool_id}/transactions/batch', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions/batch', 'post'> & Once): Promise<Data<'/api/v1/pools/{pool_id}/transactions/batch', 'post'>>
    /** Check a transaction of a pool without sending it. */
    dryRunTransaction(pool_id: string, body: Body<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>): Promise<Data<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>>
    /** Move a waiting transaction to another relayer. */
    moveTransaction(pool_id: string, transaction_id: string, options?: Options<'/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'post'>): Promise<Data<'/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'post'>>
  }
  abis: {
    /** List ABIs. */
    list(options?: Options<'/api/v1/abis', 'get'>): AsyncGenerator<ItemOf<'/api/v1/abis'>, void, undefined>
    /** Register the ABI of a contract. */
    create(body: Body<'/api/v1/abis', 'post'>, options?: Options<'/api/v1/abis', 'post'>): Promise<Data<'/api/v1/abis', 'post'>>
    /** Get an ABI. */
    get(abi_id: string, options?: Options<'/api/v1/abis/{abi_id}', 'get'>): Promise<Data<'/api/v1/abis/{abi_id}', 'get'>>
    /** Delete an ABI. */
    delete(abi_id: string, options?: Options<'/api/v1/abis/{abi_id}', 'delete'>): Promise<Data<'/api/v1/abis/{abi_id}', 'delete'>>
  }
  problems: {
    /** List what needs attention. */
    list(options?: Options<'/api/v1/problems', 'get'>): AsyncGenerator<ItemOf<'/api/v1/problems'>, void, undefined>
    /** Acknowledge a problem. */
    acknowledge(problem_id: string, body: Body<'/api/v1/problems/{problem_id}/acknowledgement', 'put'>, options?: Options<'/api/v1/problems/{problem_id}/acknowledgement', 'put'>): Promise<Data<'/api/v1/problems/{problem_id}/acknowledgement', 'put'>>
    /** Withdraw an acknowledgement. */
    deleteAcknowledgement(problem_id: string, options?: Options<'/api/v1/problems/{problem_id}/acknowledgement', 'delete'>): Promise<Data<'/api/v1/problems/{problem_id}/acknowledgement', 'delete'>>
    /** Find anything. */
    search(options?: Options<'/api/v1/search', 'get'>): Promise<Data<'/api/v1/search', 'get'>>
  }
  apiKeys: {
    /** Get the rights of the API key. */
    getSelf(options?: Options<'/api/v1/api-keys/self', 'get'>): Promise<Data<'/api/v1/api-keys/self', 'get'>>
    /** List API keys. */
    list(options?: Options<'/api/v1/api-keys', 'get'>): AsyncGenerator<ItemOf<'/api/v1/api-keys'>, void, undefined>
    /** Create an API key. */
    create(body: Body<'/api/v1/api-keys', 'post'>, options?: Options<'/api/v1/api-keys', 'post'>): Promise<Data<'/api/v1/api-keys', 'post'>>
    /** Get an API key. */
    get(api_key_id: string, options?: Options<'/api/v1/api-keys/{api_key_id}', 'get'>): Promise<Data<'/api/v1/api-keys/{api_key_id}', 'get'>>
    /** Update an API key. */
    update(api_key_id: string, body: Body<'/api/v1/api-keys/{api_key_id}', 'patch'>, options?: Options<'/api/v1/api-keys/{api_key_id}', 'patch'>): Promise<Data<'/api/v1/api-keys/{api_key_id}', 'patch'>>
    /** Revoke an API key. */
    delete(api_key_id: string, options?: Options<'/api/v1/api-keys/{api_key_id}', 'delete'>): Promise<Data<'/api/v1/api-keys/{api_key_id}', 'delete'>>
    /** Rotate the token of an API key. */
    rotate(api_key_id: string, body: Body<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>, options?: Options<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>): Promise<Data<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>>
  }
  sponsorships: {
    /** List sponsorships. */
    list(options?: Options<'/api/v1/sponsorships', 'get'>): AsyncGenerator<ItemOf<'/api/v1/sponsorships'>, void, undefined>
    /** Create a sponsorship. */
    create(body: Body<'/api/v1/sponsorships', 'post'>, options?: Options<'/api/v1/sponsorships', 'post'>): Promise<Data<'/api/v1/sponsorships', 'post'>>
    /** Get a sponsorship. */
    get(sponsorship_id: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'get'>): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'get'>>
    /** Update a sponsorship. */
    update(sponsorship_id: string, body: Body<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>>
    /** Delete a sponsorship. */
    delete(sponsorship_id: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'delete'>): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'delete'>>
    /** Get what a user has left. */
    getSponsoredUser(sponsorship_id: string, user: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/users/{user}', 'get'>): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}/users/{user}', 'get'>>
    /** Send a sponsored call. */
    sendSponsoredCall(sponsorship_id: string, body: Body<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'>, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'> & Once): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'>>
    /** Get a sponsored call. */
    getSponsoredCall(sponsorship_id: string, call_id: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', 'get'>): Promise<Data<'/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', 'get'>>
    /** Call the JSON-RPC of a sponsorship. */
    callSponsoredJsonRpc(body: Body<'/api/v1/rpc', 'post'>, options?: Options<'/api/v1/rpc', 'post'> & Once): Promise<Data<'/api/v1/rpc', 'post'>>
  }
  audit: {
    /** List the audit trail. */
    list(options?: Options<'/api/v1/audit', 'get'>): AsyncGenerator<ItemOf<'/api/v1/audit'>, void, undefined>
    /** Get the head of the audit trail. */
    getHead(options?: Options<'/api/v1/audit/head', 'get'>): Promise<Data<'/api/v1/audit/head', 'get'>>
  }
  service: {
    /** Check liveness. */
    getHealth(options?: Options<'/api/v1/health', 'get'>): Promise<Data<'/api/v1/health', 'get'>>
    /** Check readiness. */
    getReadiness(options?: Options<'/api/v1/ready', 'get'>): Promise<Data<'/api/v1/ready', 'get'>>
    /** Get the state of the service. */
    get(options?: Options<'/api/v1/service', 'get'>): Promise<Data<'/api/v1/service', 'get'>>
  }
}

export const methods = {
  signing: {
    signMessage: ['post', '/api/v1/relayers/{relayer_id}/sign', 'body'],
    signBatch: ['post', '/api/v1/relayers/{relayer_id}/sign/batch', 'body'],
    signTypedData: ['post', '/api/v1/relayers/{relayer_id}/sign-typed-data', 'body'],
    signTypedDataFull: ['post', '/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'body'],
    signAuthorization: ['post', '/api/v1/relayers/{relayer_id}/sign-authorization', 'body'],
    signTransaction: ['post', '/api/v1/relayers/{relayer_id}/sign-transaction', 'body'],
  },
  transactions: {
    list: ['get', '/api/v1/relayers/{relayer_id}/transactions/', 'list'],
    listAll: ['get', '/api/v1/transactions', 'list'],
    getById: ['get', '/api/v1/transactions/{transaction_id}', 'plain'],
    explain: ['get', '/api/v1/transactions/{transaction_id}/explanation', 'plain'],
    send: ['post', '/api/v1/relayers/{relayer_id}/transactions', 'once'],
    sendBatch: ['post', '/api/v1/relayers/{relayer_id}/transactions/batch', 'once'],
    dryRun: ['post', '/api/v1/relayers/{relayer_id}/transactions/dry-run', 'body'],
    cancelPending: ['delete', '/api/v1/relayers/{relayer_id}/transactions/pending', 'plain'],
    getByNonce: ['get', '/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'plain'],
    get: ['get', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'plain'],
    replace: ['put', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'body'],
    cancel: ['delete', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'plain'],
    speedUp: ['post', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'once'],
    listAttempts: ['get', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts', 'list'],
  },
  relayers: {
    getBalance: ['get', '/api/v1/relayers/{relayer_id}/balance', 'plain'],
    getStatus: ['get', '/api/v1/relayers/{relayer_id}/status', 'plain'],
    drain: ['post', '/api/v1/relayers/{relayer_id}/drain', 'plain'],
    sweep: ['post', '/api/v1/relayers/{relayer_id}/sweep', 'once'],
    getNonce: ['get', '/api/v1/relayers/{relayer_id}/nonce', 'plain'],
    reconcileNonce: ['post', '/api/v1/relayers/{relayer_id}/nonce/reconcile', 'body'],
    listUnknownTransactions: ['get', '/api/v1/relayers/{relayer_id}/unknown-transactions', 'list'],
    list: ['get', '/api/v1/relayers', 'list'],
    create: ['post', '/api/v1/relayers', 'body'],
    get: ['get', '/api/v1/relayers/{relayer_id}', 'plain'],
    update: ['patch', '/api/v1/relayers/{relayer_id}', 'body'],
    delete: ['delete', '/api/v1/relayers/{relayer_id}', 'plain'],
    listQueues: ['get', '/api/v1/queues', 'list'],
    getActivity: ['get', '/api/v1/activity', 'plain'],
    getSpending: ['get', '/api/v1/spending', 'list'],
    getSpendingByCaller: ['get', '/api/v1/spending/callers', 'list'],
  },
  funding: {
    get: ['get', '/api/v1/relayers/{relayer_id}/funding', 'plain'],
    set: ['put', '/api/v1/relayers/{relayer_id}/funding', 'body'],
    delete: ['delete', '/api/v1/relayers/{relayer_id}/funding', 'plain'],
    getPool: ['get', '/api/v1/pools/{pool_id}/funding', 'plain'],
    setPool: ['put', '/api/v1/pools/{pool_id}/funding', 'body'],
    deletePool: ['delete', '/api/v1/pools/{pool_id}/funding', 'plain'],
  },
  notifications: {
    list: ['get', '/api/v1/notifications', 'list'],
    create: ['post', '/api/v1/notifications', 'body'],
    get: ['get', '/api/v1/notifications/{notification_id}', 'plain'],
    update: ['patch', '/api/v1/notifications/{notification_id}', 'body'],
    delete: ['delete', '/api/v1/notifications/{notification_id}', 'plain'],
    getHealth: ['get', '/api/v1/notifications/{notification_id}/health', 'plain'],
    listDeliveries: ['get', '/api/v1/notifications/{notification_id}/deliveries', 'list'],
    redeliver: ['post', '/api/v1/notifications/{notification_id}/redeliver', 'body'],
    test: ['post', '/api/v1/notifications/{notification_id}/test', 'plain'],
  },
  signers: {
    list: ['get', '/api/v1/signers', 'list'],
    create: ['post', '/api/v1/signers', 'body'],
    get: ['get', '/api/v1/signers/{signer_id}', 'plain'],
    delete: ['delete', '/api/v1/signers/{signer_id}', 'plain'],
  },
  networks: {
    list: ['get', '/api/v1/networks', 'list'],
    create: ['post', '/api/v1/networks', 'body'],
    get: ['get', '/api/v1/networks/{network_id}', 'plain'],
    update: ['patch', '/api/v1/networks/{network_id}', 'body'],
    delete: ['delete', '/api/v1/networks/{network_id}', 'plain'],
    listNodes: ['get', '/api/v1/networks/{network_id}/nodes', 'plain'],
  },
  pools: {
    list: ['get', '/api/v1/pools', 'list'],
    create: ['post', '/api/v1/pools', 'body'],
    get: ['get', '/api/v1/pools/{pool_id}', 'plain'],
    update: ['patch', '/api/v1/pools/{pool_id}', 'body'],
    delete: ['delete', '/api/v1/pools/{pool_id}', 'plain'],
    updateRelayer: ['patch', '/api/v1/pools/{pool_id}/relayers/{relayer_id}', 'body'],
    sendTransaction: ['post', '/api/v1/pools/{pool_id}/transactions', 'once'],
    sendTransactionBatch: ['post', '/api/v1/pools/{pool_id}/transactions/batch', 'once'],
    dryRunTransaction: ['post', '/api/v1/pools/{pool_id}/transactions/dry-run', 'body'],
    moveTransaction: ['post', '/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'plain'],
  },
  abis: {
    list: ['get', '/api/v1/abis', 'list'],
    create: ['post', '/api/v1/abis', 'body'],
    get: ['get', '/api/v1/abis/{abi_id}', 'plain'],
    delete: ['delete', '/api/v1/abis/{abi_id}', 'plain'],
  },
  problems: {
    list: ['get', '/api/v1/problems', 'list'],
    acknowledge: ['put', '/api/v1/problems/{problem_id}/acknowledgement', 'body'],
    deleteAcknowledgement: ['delete', '/api/v1/problems/{problem_id}/acknowledgement', 'plain'],
    search: ['get', '/api/v1/search', 'plain'],
  },
  apiKeys: {
    getSelf: ['get', '/api/v1/api-keys/self', 'plain'],
    list: ['get', '/api/v1/api-keys', 'list'],
    create: ['post', '/api/v1/api-keys', 'body'],
    get: ['get', '/api/v1/api-keys/{api_key_id}', 'plain'],
    update: ['patch', '/api/v1/api-keys/{api_key_id}', 'body'],
    delete: ['delete', '/api/v1/api-keys/{api_key_id}', 'plain'],
    rotate: ['post', '/api/v1/api-keys/{api_key_id}/rotate', 'body'],
  },
  sponsorships: {
    list: ['get', '/api/v1/sponsorships', 'list'],
    create: ['post', '/api/v1/sponsorships', 'body'],
    get: ['get', '/api/v1/sponsorships/{sponsorship_id}', 'plain'],
    update: ['patch', '/api/v1/sponsorships/{sponsorship_id}', 'body'],
    delete: ['delete', '/api/v1/sponsorships/{sponsorship_id}', 'plain'],
    getSponsoredUser: ['get', '/api/v1/sponsorships/{sponsorship_id}/users/{user}', 'plain'],
    sendSponsoredCall: ['post', '/api/v1/sponsorships/{sponsorship_id}/calls', 'once'],
    getSponsoredCall: ['get', '/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', 'plain'],
    callSponsoredJsonRpc: ['post', '/api/v1/rpc', 'once'],
  },
  audit: {
    list: ['get', '/api/v1/audit', 'list'],
    getHead: ['get', '/api/v1/audit/head', 'plain'],
  },
  service: {
    getHealth: ['get', '/api/v1/health', 'plain'],
    getReadiness: ['get', '/api/v1/ready', 'plain'],
    get: ['get', '/api/v1/service', 'plain'],
  },
} as const satisfies Record<string, Record<string, Described>>
