// Written by test/generate-methods.ts from the contract. Do not change it by hand.
import type { ApiPromise } from '../client/call.ts'
import type { Body, Data, Described, ItemOf, Once, Options } from '../client/contract-types.ts'

/** The operations of the contract by name: the parameters of the path in their order, the body, and options. */
export interface GeneratedMethods {
  signing: {
    /** Sign a message. */
    signMessage(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign', 'post'>>
    /** Sign several messages. */
    signBatch(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign/batch', 'post'>>
    /** Sign hashed typed data. */
    signTypedDataHashes(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign-typed-data', 'post'>>
    /** Sign typed data given in full. */
    signTypedData(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'post'>>
    /** Sign an authorization. */
    signAuthorization(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign-authorization', 'post'>>
    /** Sign a transaction without sending it. */
    signTransaction(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sign-transaction', 'post'>>
  }
  transactions: {
    /** List a relayer's transactions. */
    listRelayerTransactions(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/transactions/'>, void, undefined>
    /** List transactions. */
    list(options?: Options<'/api/v1/transactions', 'get'>): AsyncGenerator<ItemOf<'/api/v1/transactions'>, void, undefined>
    /** Get a transaction. */
    get(transactionId: string, options?: Options<'/api/v1/transactions/{transaction_id}', 'get'>): ApiPromise<Data<'/api/v1/transactions/{transaction_id}', 'get'>>
    /** Get the explanation of a transaction. */
    getExplanation(transactionId: string, options?: Options<'/api/v1/transactions/{transaction_id}/explanation', 'get'>): ApiPromise<Data<'/api/v1/transactions/{transaction_id}/explanation', 'get'>>
    /** Send a transaction. */
    send(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions', 'post'> & Once): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions', 'post'>>
    /** Send several transactions. */
    sendBatch(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'> & Once): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/batch', 'post'>>
    /** Dry-run a transaction. */
    dryRun(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/dry-run', 'post'>>
    /** Cancel all pending transactions. */
    cancelPending(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/pending', 'delete'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/pending', 'delete'>>
    /** Get a relayer's transaction by its nonce. */
    getRelayerTransactionByNonce(relayerId: string, nonce: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'get'>>
    /** Get a relayer's transaction. */
    getRelayerTransaction(relayerId: string, transactionId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'get'>>
    /** Replace a transaction. */
    replace(relayerId: string, transactionId: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'put'>>
    /** Cancel a transaction. */
    cancel(relayerId: string, transactionId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'delete'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'delete'>>
    /** Speed up a transaction. */
    speedUp(relayerId: string, transactionId: string, body: Body<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'> & Once): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'post'>>
    /** Publish a private transaction. */
    publish(relayerId: string, transactionId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/publish', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/publish', 'post'>>
    /** List the signed versions of a transaction. */
    listAttempts(relayerId: string, transactionId: string, options?: Options<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts'>, void, undefined>
  }
  relayers: {
    /** Get a relayer's balance. */
    getBalance(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/balance', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/balance', 'get'>>
    /** Get a relayer's status. */
    getStatus(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/status', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/status', 'get'>>
    /** Get the funding of a relayer. */
    getFunding(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/funding', 'get'>>
    /** Replace the funding of a relayer. */
    replaceFunding(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/funding', 'put'>, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'put'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/funding', 'put'>>
    /** Delete the funding of a relayer. */
    deleteFunding(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/funding', 'delete'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/funding', 'delete'>>
    /** Sweep a relayer. */
    sweep(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/sweep', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/sweep', 'post'> & Once): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/sweep', 'post'>>
    /** Get a relayer's nonce state. */
    getNonce(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/nonce', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/nonce', 'get'>>
    /** Reconcile a relayer's nonces. */
    reconcileNonce(relayerId: string, body?: Body<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/nonce/reconcile', 'post'>>
    /** List the transactions that the database does not know. */
    listExternalTransactions(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}/external-transactions', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers/{relayer_id}/external-transactions'>, void, undefined>
    /** Acknowledge external transactions. */
    acknowledgeExternalTransactions(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}/external-transactions/acknowledge', 'post'>, options?: Options<'/api/v1/relayers/{relayer_id}/external-transactions/acknowledge', 'post'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}/external-transactions/acknowledge', 'post'>>
    /** List relayers. */
    list(options?: Options<'/api/v1/relayers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/relayers'>, void, undefined>
    /** Create a relayer. */
    create(body: Body<'/api/v1/relayers', 'post'>, options?: Options<'/api/v1/relayers', 'post'>): ApiPromise<Data<'/api/v1/relayers', 'post'>>
    /** Get a relayer. */
    get(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}', 'get'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}', 'get'>>
    /** Update a relayer. */
    update(relayerId: string, body: Body<'/api/v1/relayers/{relayer_id}', 'patch'>, options?: Options<'/api/v1/relayers/{relayer_id}', 'patch'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}', 'patch'>>
    /** Delete a relayer. */
    delete(relayerId: string, options?: Options<'/api/v1/relayers/{relayer_id}', 'delete'>): ApiPromise<Data<'/api/v1/relayers/{relayer_id}', 'delete'>>
    /** List the queues of all relayers. */
    listQueues(options?: Options<'/api/v1/queues', 'get'>): AsyncGenerator<ItemOf<'/api/v1/queues'>, void, undefined>
    /** Get the activity of relayers. */
    getActivity(options?: Options<'/api/v1/activity', 'get'>): ApiPromise<Data<'/api/v1/activity', 'get'>>
    /** List what relayers spent on fees. */
    listSpending(options?: Options<'/api/v1/spending', 'get'>): AsyncGenerator<ItemOf<'/api/v1/spending'>, void, undefined>
    /** List the fees by API key. */
    listCallerSpending(options?: Options<'/api/v1/spending/callers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/spending/callers'>, void, undefined>
  }
  notifications: {
    /** List notifications. */
    list(options?: Options<'/api/v1/notifications', 'get'>): AsyncGenerator<ItemOf<'/api/v1/notifications'>, void, undefined>
    /** Create a notification. */
    create(body: Body<'/api/v1/notifications', 'post'>, options?: Options<'/api/v1/notifications', 'post'>): ApiPromise<Data<'/api/v1/notifications', 'post'>>
    /** Get a notification. */
    get(notificationId: string, options?: Options<'/api/v1/notifications/{notification_id}', 'get'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}', 'get'>>
    /** Update a notification. */
    update(notificationId: string, body: Body<'/api/v1/notifications/{notification_id}', 'patch'>, options?: Options<'/api/v1/notifications/{notification_id}', 'patch'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}', 'patch'>>
    /** Delete a notification. */
    delete(notificationId: string, options?: Options<'/api/v1/notifications/{notification_id}', 'delete'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}', 'delete'>>
    /** Get a notification's health. */
    getHealth(notificationId: string, options?: Options<'/api/v1/notifications/{notification_id}/health', 'get'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}/health', 'get'>>
    /** List deliveries. */
    listDeliveries(notificationId: string, options?: Options<'/api/v1/notifications/{notification_id}/deliveries', 'get'>): AsyncGenerator<ItemOf<'/api/v1/notifications/{notification_id}/deliveries'>, void, undefined>
    /** Redeliver deliveries. */
    redeliverDeliveries(notificationId: string, body: Body<'/api/v1/notifications/{notification_id}/redeliver', 'post'>, options?: Options<'/api/v1/notifications/{notification_id}/redeliver', 'post'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}/redeliver', 'post'>>
    /** Test a notification. */
    test(notificationId: string, options?: Options<'/api/v1/notifications/{notification_id}/test', 'post'>): ApiPromise<Data<'/api/v1/notifications/{notification_id}/test', 'post'>>
  }
  signers: {
    /** List signers. */
    list(options?: Options<'/api/v1/signers', 'get'>): AsyncGenerator<ItemOf<'/api/v1/signers'>, void, undefined>
    /** Create a signer. */
    create(body: Body<'/api/v1/signers', 'post'>, options?: Options<'/api/v1/signers', 'post'>): ApiPromise<Data<'/api/v1/signers', 'post'>>
    /** Get a signer. */
    get(signerId: string, options?: Options<'/api/v1/signers/{signer_id}', 'get'>): ApiPromise<Data<'/api/v1/signers/{signer_id}', 'get'>>
    /** Delete a signer. */
    delete(signerId: string, options?: Options<'/api/v1/signers/{signer_id}', 'delete'>): ApiPromise<Data<'/api/v1/signers/{signer_id}', 'delete'>>
  }
  networks: {
    /** List networks. */
    list(options?: Options<'/api/v1/networks', 'get'>): AsyncGenerator<ItemOf<'/api/v1/networks'>, void, undefined>
    /** Create a network. */
    create(body: Body<'/api/v1/networks', 'post'>, options?: Options<'/api/v1/networks', 'post'>): ApiPromise<Data<'/api/v1/networks', 'post'>>
    /** Get a network. */
    get(networkId: string, options?: Options<'/api/v1/networks/{network_id}', 'get'>): ApiPromise<Data<'/api/v1/networks/{network_id}', 'get'>>
    /** Update a network. */
    update(networkId: string, body: Body<'/api/v1/networks/{network_id}', 'patch'>, options?: Options<'/api/v1/networks/{network_id}', 'patch'>): ApiPromise<Data<'/api/v1/networks/{network_id}', 'patch'>>
    /** Delete a network. */
    delete(networkId: string, options?: Options<'/api/v1/networks/{network_id}', 'delete'>): ApiPromise<Data<'/api/v1/networks/{network_id}', 'delete'>>
    /** List the nodes of a network. */
    listNodes(networkId: string, options?: Options<'/api/v1/networks/{network_id}/nodes', 'get'>): ApiPromise<Data<'/api/v1/networks/{network_id}/nodes', 'get'>>
  }
  pools: {
    /** List pools. */
    list(options?: Options<'/api/v1/pools', 'get'>): AsyncGenerator<ItemOf<'/api/v1/pools'>, void, undefined>
    /** Create a pool. */
    create(body: Body<'/api/v1/pools', 'post'>, options?: Options<'/api/v1/pools', 'post'>): ApiPromise<Data<'/api/v1/pools', 'post'>>
    /** Get a pool. */
    get(poolId: string, options?: Options<'/api/v1/pools/{pool_id}', 'get'>): ApiPromise<Data<'/api/v1/pools/{pool_id}', 'get'>>
    /** Update a pool. */
    update(poolId: string, body: Body<'/api/v1/pools/{pool_id}', 'patch'>, options?: Options<'/api/v1/pools/{pool_id}', 'patch'>): ApiPromise<Data<'/api/v1/pools/{pool_id}', 'patch'>>
    /** Delete a pool. */
    delete(poolId: string, options?: Options<'/api/v1/pools/{pool_id}', 'delete'>): ApiPromise<Data<'/api/v1/pools/{pool_id}', 'delete'>>
    /** Send a transaction through a pool. */
    sendTransaction(poolId: string, body: Body<'/api/v1/pools/{pool_id}/transactions', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions', 'post'> & Once): ApiPromise<Data<'/api/v1/pools/{pool_id}/transactions', 'post'>>
    /** Send several transactions through a pool. */
    sendTransactionBatch(poolId: string, body: Body<'/api/v1/pools/{pool_id}/transactions/batch', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions/batch', 'post'> & Once): ApiPromise<Data<'/api/v1/pools/{pool_id}/transactions/batch', 'post'>>
    /** Dry-run a transaction of a pool. */
    dryRunTransaction(poolId: string, body: Body<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>, options?: Options<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>): ApiPromise<Data<'/api/v1/pools/{pool_id}/transactions/dry-run', 'post'>>
    /** Move a waiting transaction to another relayer. */
    moveTransaction(poolId: string, transactionId: string, options?: Options<'/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'post'> & Once): ApiPromise<Data<'/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'post'>>
    /** Get the funding of a pool. */
    getFunding(poolId: string, options?: Options<'/api/v1/pools/{pool_id}/funding', 'get'>): ApiPromise<Data<'/api/v1/pools/{pool_id}/funding', 'get'>>
    /** Replace the funding of a pool. */
    replaceFunding(poolId: string, body: Body<'/api/v1/pools/{pool_id}/funding', 'put'>, options?: Options<'/api/v1/pools/{pool_id}/funding', 'put'>): ApiPromise<Data<'/api/v1/pools/{pool_id}/funding', 'put'>>
    /** Delete the funding of a pool. */
    deleteFunding(poolId: string, options?: Options<'/api/v1/pools/{pool_id}/funding', 'delete'>): ApiPromise<Data<'/api/v1/pools/{pool_id}/funding', 'delete'>>
  }
  abis: {
    /** List ABIs. */
    list(options?: Options<'/api/v1/abis', 'get'>): AsyncGenerator<ItemOf<'/api/v1/abis'>, void, undefined>
    /** Create an ABI. */
    create(body: Body<'/api/v1/abis', 'post'>, options?: Options<'/api/v1/abis', 'post'>): ApiPromise<Data<'/api/v1/abis', 'post'>>
    /** Get an ABI. */
    get(abiId: string, options?: Options<'/api/v1/abis/{abi_id}', 'get'>): ApiPromise<Data<'/api/v1/abis/{abi_id}', 'get'>>
    /** Delete an ABI. */
    delete(abiId: string, options?: Options<'/api/v1/abis/{abi_id}', 'delete'>): ApiPromise<Data<'/api/v1/abis/{abi_id}', 'delete'>>
  }
  problems: {
    /** List what needs attention. */
    list(options?: Options<'/api/v1/problems', 'get'>): AsyncGenerator<ItemOf<'/api/v1/problems'>, void, undefined>
    /** Update the acknowledgement of a problem. */
    update(problemId: string, body: Body<'/api/v1/problems/{problem_id}', 'patch'>, options?: Options<'/api/v1/problems/{problem_id}', 'patch'>): ApiPromise<Data<'/api/v1/problems/{problem_id}', 'patch'>>
  }
  service: {
    /** Search resources. */
    searchResources(options?: Options<'/api/v1/search', 'get'>): ApiPromise<Data<'/api/v1/search', 'get'>>
    /** Get the liveness. */
    getHealth(options?: Options<'/api/v1/health', 'get'>): ApiPromise<Data<'/api/v1/health', 'get'>>
    /** Get the readiness. */
    getReadiness(options?: Options<'/api/v1/ready', 'get'>): ApiPromise<Data<'/api/v1/ready', 'get'>>
    /** Get the state of the service. */
    getState(options?: Options<'/api/v1/service', 'get'>): ApiPromise<Data<'/api/v1/service', 'get'>>
  }
  apiKeys: {
    /** Get the rights of the API key. */
    getOwn(options?: Options<'/api/v1/api-keys/self', 'get'>): ApiPromise<Data<'/api/v1/api-keys/self', 'get'>>
    /** List API keys. */
    list(options?: Options<'/api/v1/api-keys', 'get'>): AsyncGenerator<ItemOf<'/api/v1/api-keys'>, void, undefined>
    /** Create an API key. */
    create(body: Body<'/api/v1/api-keys', 'post'>, options?: Options<'/api/v1/api-keys', 'post'>): ApiPromise<Data<'/api/v1/api-keys', 'post'>>
    /** Get an API key. */
    get(apiKeyId: string, options?: Options<'/api/v1/api-keys/{api_key_id}', 'get'>): ApiPromise<Data<'/api/v1/api-keys/{api_key_id}', 'get'>>
    /** Update an API key. */
    update(apiKeyId: string, body: Body<'/api/v1/api-keys/{api_key_id}', 'patch'>, options?: Options<'/api/v1/api-keys/{api_key_id}', 'patch'>): ApiPromise<Data<'/api/v1/api-keys/{api_key_id}', 'patch'>>
    /** Delete an API key. */
    delete(apiKeyId: string, options?: Options<'/api/v1/api-keys/{api_key_id}', 'delete'>): ApiPromise<Data<'/api/v1/api-keys/{api_key_id}', 'delete'>>
    /** Rotate the token of an API key. */
    rotate(apiKeyId: string, body: Body<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>, options?: Options<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>): ApiPromise<Data<'/api/v1/api-keys/{api_key_id}/rotate', 'post'>>
  }
  sponsorships: {
    /** List sponsorships. */
    list(options?: Options<'/api/v1/sponsorships', 'get'>): AsyncGenerator<ItemOf<'/api/v1/sponsorships'>, void, undefined>
    /** Create a sponsorship. */
    create(body: Body<'/api/v1/sponsorships', 'post'>, options?: Options<'/api/v1/sponsorships', 'post'>): ApiPromise<Data<'/api/v1/sponsorships', 'post'>>
    /** Get a sponsorship. */
    get(sponsorshipId: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'get'>): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'get'>>
    /** Update a sponsorship. */
    update(sponsorshipId: string, body: Body<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'patch'>>
    /** Delete a sponsorship. */
    delete(sponsorshipId: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}', 'delete'>): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}', 'delete'>>
    /** Get the usage of a sponsored user. */
    getSponsoredUser(sponsorshipId: string, user: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/users/{user}', 'get'>): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}/users/{user}', 'get'>>
    /** Send a sponsored call. */
    sendSponsoredCall(sponsorshipId: string, body: Body<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'>, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'> & Once): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}/calls', 'post'>>
    /** Get a sponsored call. */
    getSponsoredCall(sponsorshipId: string, callId: string, options?: Options<'/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', 'get'>): ApiPromise<Data<'/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', 'get'>>
    /** Call the JSON-RPC of a sponsorship. */
    callSponsoredJsonRpc(body: Body<'/api/v1/rpc', 'post'>, options?: Options<'/api/v1/rpc', 'post'> & Once): ApiPromise<Data<'/api/v1/rpc', 'post'>>
  }
  facilitators: {
    /** List facilitators. */
    list(options?: Options<'/api/v1/facilitators', 'get'>): AsyncGenerator<ItemOf<'/api/v1/facilitators'>, void, undefined>
    /** Create a facilitator. */
    create(body: Body<'/api/v1/facilitators', 'post'>, options?: Options<'/api/v1/facilitators', 'post'>): ApiPromise<Data<'/api/v1/facilitators', 'post'>>
    /** Get a facilitator. */
    get(facilitatorId: string, options?: Options<'/api/v1/facilitators/{facilitator_id}', 'get'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}', 'get'>>
    /** Update a facilitator. */
    update(facilitatorId: string, body: Body<'/api/v1/facilitators/{facilitator_id}', 'patch'>, options?: Options<'/api/v1/facilitators/{facilitator_id}', 'patch'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}', 'patch'>>
    /** Delete a facilitator. */
    delete(facilitatorId: string, options?: Options<'/api/v1/facilitators/{facilitator_id}', 'delete'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}', 'delete'>>
    /** Get the supported kinds of payment. */
    getSupportedPayments(facilitatorId: string, options?: Options<'/api/v1/facilitators/{facilitator_id}/supported', 'get'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}/supported', 'get'>>
    /** Verify a payment. */
    verifyPayment(facilitatorId: string, body: Body<'/api/v1/facilitators/{facilitator_id}/verify', 'post'>, options?: Options<'/api/v1/facilitators/{facilitator_id}/verify', 'post'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}/verify', 'post'>>
    /** Settle a payment. */
    settlePayment(facilitatorId: string, body: Body<'/api/v1/facilitators/{facilitator_id}/settle', 'post'>, options?: Options<'/api/v1/facilitators/{facilitator_id}/settle', 'post'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}/settle', 'post'>>
    /** List payments. */
    listPayments(facilitatorId: string, options?: Options<'/api/v1/facilitators/{facilitator_id}/payments', 'get'>): AsyncGenerator<ItemOf<'/api/v1/facilitators/{facilitator_id}/payments'>, void, undefined>
    /** Get a payment. */
    getPayment(facilitatorId: string, paymentId: string, options?: Options<'/api/v1/facilitators/{facilitator_id}/payments/{payment_id}', 'get'>): ApiPromise<Data<'/api/v1/facilitators/{facilitator_id}/payments/{payment_id}', 'get'>>
  }
  audit: {
    /** List the audit trail. */
    listEntries(options?: Options<'/api/v1/audit', 'get'>): AsyncGenerator<ItemOf<'/api/v1/audit'>, void, undefined>
    /** Get the head of the audit trail. */
    getHead(options?: Options<'/api/v1/audit/head', 'get'>): ApiPromise<Data<'/api/v1/audit/head', 'get'>>
  }
}

export const methods = {
  signing: {
    signMessage: ['post', '/api/v1/relayers/{relayer_id}/sign', 'body'],
    signBatch: ['post', '/api/v1/relayers/{relayer_id}/sign/batch', 'body'],
    signTypedDataHashes: ['post', '/api/v1/relayers/{relayer_id}/sign-typed-data', 'body'],
    signTypedData: ['post', '/api/v1/relayers/{relayer_id}/sign-typed-data/full', 'body'],
    signAuthorization: ['post', '/api/v1/relayers/{relayer_id}/sign-authorization', 'body'],
    signTransaction: ['post', '/api/v1/relayers/{relayer_id}/sign-transaction', 'body'],
  },
  transactions: {
    listRelayerTransactions: ['get', '/api/v1/relayers/{relayer_id}/transactions/', 'list'],
    list: ['get', '/api/v1/transactions', 'list'],
    get: ['get', '/api/v1/transactions/{transaction_id}', 'plain'],
    getExplanation: ['get', '/api/v1/transactions/{transaction_id}/explanation', 'plain'],
    send: ['post', '/api/v1/relayers/{relayer_id}/transactions', 'once'],
    sendBatch: ['post', '/api/v1/relayers/{relayer_id}/transactions/batch', 'once'],
    dryRun: ['post', '/api/v1/relayers/{relayer_id}/transactions/dry-run', 'body'],
    cancelPending: ['delete', '/api/v1/relayers/{relayer_id}/transactions/pending', 'plain'],
    getRelayerTransactionByNonce: ['get', '/api/v1/relayers/{relayer_id}/transactions/by-nonce/{nonce}', 'plain'],
    getRelayerTransaction: ['get', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'plain'],
    replace: ['put', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'body'],
    cancel: ['delete', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', 'plain'],
    speedUp: ['post', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up', 'once'],
    publish: ['post', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/publish', 'plain'],
    listAttempts: ['get', '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts', 'list'],
  },
  relayers: {
    getBalance: ['get', '/api/v1/relayers/{relayer_id}/balance', 'plain'],
    getStatus: ['get', '/api/v1/relayers/{relayer_id}/status', 'plain'],
    getFunding: ['get', '/api/v1/relayers/{relayer_id}/funding', 'plain'],
    replaceFunding: ['put', '/api/v1/relayers/{relayer_id}/funding', 'body'],
    deleteFunding: ['delete', '/api/v1/relayers/{relayer_id}/funding', 'plain'],
    sweep: ['post', '/api/v1/relayers/{relayer_id}/sweep', 'once'],
    getNonce: ['get', '/api/v1/relayers/{relayer_id}/nonce', 'plain'],
    reconcileNonce: ['post', '/api/v1/relayers/{relayer_id}/nonce/reconcile', 'body'],
    listExternalTransactions: ['get', '/api/v1/relayers/{relayer_id}/external-transactions', 'list'],
    acknowledgeExternalTransactions: ['post', '/api/v1/relayers/{relayer_id}/external-transactions/acknowledge', 'body'],
    list: ['get', '/api/v1/relayers', 'list'],
    create: ['post', '/api/v1/relayers', 'body'],
    get: ['get', '/api/v1/relayers/{relayer_id}', 'plain'],
    update: ['patch', '/api/v1/relayers/{relayer_id}', 'body'],
    delete: ['delete', '/api/v1/relayers/{relayer_id}', 'plain'],
    listQueues: ['get', '/api/v1/queues', 'list'],
    getActivity: ['get', '/api/v1/activity', 'plain'],
    listSpending: ['get', '/api/v1/spending', 'list'],
    listCallerSpending: ['get', '/api/v1/spending/callers', 'list'],
  },
  notifications: {
    list: ['get', '/api/v1/notifications', 'list'],
    create: ['post', '/api/v1/notifications', 'body'],
    get: ['get', '/api/v1/notifications/{notification_id}', 'plain'],
    update: ['patch', '/api/v1/notifications/{notification_id}', 'body'],
    delete: ['delete', '/api/v1/notifications/{notification_id}', 'plain'],
    getHealth: ['get', '/api/v1/notifications/{notification_id}/health', 'plain'],
    listDeliveries: ['get', '/api/v1/notifications/{notification_id}/deliveries', 'list'],
    redeliverDeliveries: ['post', '/api/v1/notifications/{notification_id}/redeliver', 'body'],
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
    sendTransaction: ['post', '/api/v1/pools/{pool_id}/transactions', 'once'],
    sendTransactionBatch: ['post', '/api/v1/pools/{pool_id}/transactions/batch', 'once'],
    dryRunTransaction: ['post', '/api/v1/pools/{pool_id}/transactions/dry-run', 'body'],
    moveTransaction: ['post', '/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', 'once without body'],
    getFunding: ['get', '/api/v1/pools/{pool_id}/funding', 'plain'],
    replaceFunding: ['put', '/api/v1/pools/{pool_id}/funding', 'body'],
    deleteFunding: ['delete', '/api/v1/pools/{pool_id}/funding', 'plain'],
  },
  abis: {
    list: ['get', '/api/v1/abis', 'list'],
    create: ['post', '/api/v1/abis', 'body'],
    get: ['get', '/api/v1/abis/{abi_id}', 'plain'],
    delete: ['delete', '/api/v1/abis/{abi_id}', 'plain'],
  },
  problems: {
    list: ['get', '/api/v1/problems', 'list'],
    update: ['patch', '/api/v1/problems/{problem_id}', 'body'],
  },
  service: {
    searchResources: ['get', '/api/v1/search', 'plain'],
    getHealth: ['get', '/api/v1/health', 'plain'],
    getReadiness: ['get', '/api/v1/ready', 'plain'],
    getState: ['get', '/api/v1/service', 'plain'],
  },
  apiKeys: {
    getOwn: ['get', '/api/v1/api-keys/self', 'plain'],
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
  facilitators: {
    list: ['get', '/api/v1/facilitators', 'list'],
    create: ['post', '/api/v1/facilitators', 'body'],
    get: ['get', '/api/v1/facilitators/{facilitator_id}', 'plain'],
    update: ['patch', '/api/v1/facilitators/{facilitator_id}', 'body'],
    delete: ['delete', '/api/v1/facilitators/{facilitator_id}', 'plain'],
    getSupportedPayments: ['get', '/api/v1/facilitators/{facilitator_id}/supported', 'plain'],
    verifyPayment: ['post', '/api/v1/facilitators/{facilitator_id}/verify', 'body'],
    settlePayment: ['post', '/api/v1/facilitators/{facilitator_id}/settle', 'body'],
    listPayments: ['get', '/api/v1/facilitators/{facilitator_id}/payments', 'list'],
    getPayment: ['get', '/api/v1/facilitators/{facilitator_id}/payments/{payment_id}', 'plain'],
  },
  audit: {
    listEntries: ['get', '/api/v1/audit', 'list'],
    getHead: ['get', '/api/v1/audit/head', 'plain'],
  },
} as const satisfies Record<string, Record<string, Described>>
