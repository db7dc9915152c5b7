#!/bin/sh
# Foundry's cast as it is: sends a transaction through a relayer and prints its receipt.
set -eu
export ETH_RPC_URL="${RELAYER_URL:-http://127.0.0.1:8080}/api/v1/relayers/${RELAYER_ID:-demo}/rpc"
export ETH_RPC_HEADERS="Authorization: Bearer $RELAYER_API_KEY"
from=$(cast rpc eth_accounts | tr -d '[]"')

cast send --unlocked --from "$from" 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --value 0.001ether
