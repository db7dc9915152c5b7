#!/bin/sh
# curl: signs a message, sends a transaction, and waits until it is confirmed.
set -eu
relayer=${RELAYER_URL:-http://127.0.0.1:8080}/api/v1/relayers/${RELAYER_ID:-demo}
# The header in a file or on standard input keeps the API key out of the list of processes.
api() {
  printf 'Authorization: Bearer %s\n' "$RELAYER_API_KEY" |
    curl --silent --show-error --fail-with-body -H @- -H 'Content-Type: application/json' "$@"
}

api "$relayer/sign" -d '{"message":"Hello"}'
echo
api "$relayer/transactions?wait=confirmed" -H "Idempotency-Key: ${ORDER:-order-1001}" \
  -d '{"to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","value":"1000000000000000"}'
echo
