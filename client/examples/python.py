"""Python without our client: signs a message, and sends a transaction once, whatever happens to the connection."""

import json
import os
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("RELAYER_URL", "http://127.0.0.1:8080")
RELAYER = f"{URL}/api/v1/relayers/{os.environ.get('RELAYER_ID', 'demo')}"
HEADERS = {"Authorization": f"Bearer {os.environ['RELAYER_API_KEY']}", "Content-Type": "application/json"}


def post(path, body, **headers):
    request = urllib.request.Request(RELAYER + path, json.dumps(body).encode(), {**HEADERS, **headers})
    try:
        with urllib.request.urlopen(request, timeout=90) as response:
            return json.load(response)["data"]
    except urllib.error.HTTPError as error:
        failure = json.load(error)
        raise SystemExit(f"{error.code} {failure.get('code')}: {failure.get('details') or failure['message']}")


def send(transaction):
    """Repeats the request under the same key when no response arrives: nothing is sent twice."""
    key = str(uuid.uuid4())
    for attempt in range(4):
        try:
            return post("/transactions?wait=confirmed", transaction, **{"Idempotency-Key": key})
        except (urllib.error.URLError, TimeoutError):
            if attempt == 3:
                raise
            time.sleep(1)


print("signature", post("/sign", {"message": "Hello"})["sig"])
sent = send({"to": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "value": str(10**15)})
print(sent["status"], sent["hash"])
