import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  block,
  found,
  generate,
  objectSchemas,
  operationIds,
  receiver,
  run,
  startCalls,
  unknownMethods,
  unknownModels,
  writeLater,
} from './generated-client.ts'

const program = `
import compileall, importlib, json, os, pathlib, pkgutil, sys
import relayer
from relayer import AuthenticatedClient
from relayer.api.notifications import create_notification, delete_notification, get_notification, update_notification
from relayer.api.relayers import list_relayers
from relayer.api.signing import sign_message
from relayer.api.transactions import send_transaction
from relayer.api.relayers import create_relayer, update_relayer
from relayer.api.signers import create_signer
from relayer.models import ContractCall, CreateNotificationRequest, CreateRelayerWithNotificationIdRequest, WebhookEvent
from relayer.models import GeneratedSignerRequest, NetworkTypeInput, RelayerPoliciesInput, SendTransactionWithCallRequest, SendTransactionWithDataRequest
from relayer.models import SignTextRequest, TransactionUpdateEvent, TransactionResponse, UpdateNotificationRequest
from relayer.models import NotificationFilterInput, RelayerPoliciesPatch, TransactionStatusInput, UpdateRelayerWithNotificationIdRequest

assert compileall.compile_dir("relayer", quiet=1)
for module in pkgutil.walk_packages(relayer.__path__, "relayer."):
    importlib.import_module(module.name)

delivery = json.loads(pathlib.Path("delivery.json").read_text())

def handle(body):
    body = json.loads(body)
    if WebhookEvent.from_dict(body).event != "transaction_update":
        return None
    return TransactionUpdateEvent.from_dict(body).payload.id

assert handle(pathlib.Path("delivery.json").read_text()) == delivery["payload"]["id"]
assert handle(pathlib.Path("later-event.json").read_text()) is None

later = TransactionResponse.from_dict(json.loads(pathlib.Path("later.json").read_text()))
assert later.additional_properties == {"later_member": True}
assert later.data.additional_properties == {"later_member": {"is": "unknown"}}
assert later.data.status == "resting"

client = AuthenticatedClient(base_url=sys.argv[1], token=os.environ["API_KEY"])
answer = sign_message.sync(relayer_id="demo", client=client, body=SignTextRequest(message="Hello"))
print(answer.data.sig)
transfer = SendTransactionWithDataRequest(to="${receiver}", value="1")
print(send_transaction.sync(relayer_id="demo", client=client, body=transfer, idempotency_key="one").data.id)
call = ContractCall(function="approve(address,uint256)", args=["${receiver}", "1"])
approve = SendTransactionWithCallRequest(to="${receiver}", call=call)
print(send_transaction.sync(relayer_id="demo", client=client, body=approve).data.id)
print(list_relayers.sync(client=client).data[0].id)
key = GeneratedSignerRequest(type_="generated", id="extra")
print(create_signer.sync(client=client, body=key).data.type_)
extra = CreateRelayerWithNotificationIdRequest(
    id="extra", name="Extra", network="local", network_type=NetworkTypeInput.EVM, paused=False, signer_id="extra",
    policies=RelayerPoliciesInput(max_value="5"),
)
made = create_relayer.sync(client=client, body=extra).data
print(made.id, made.policies.max_value)
higher = UpdateRelayerWithNotificationIdRequest(policies=RelayerPoliciesPatch(max_value="7"))
print("extra", update_relayer.sync(relayer_id="extra", client=client, body=higher).data.policies.max_value)
lifted = UpdateRelayerWithNotificationIdRequest(policies=RelayerPoliciesPatch(max_value=None))
print("extra", update_relayer.sync(relayer_id="extra", client=client, body=lifted).data.policies.max_value or "none")
confirmed = NotificationFilterInput(statuses=[TransactionStatusInput.CONFIRMED])
ops = CreateNotificationRequest(id="ops", url="http://127.0.0.1:9", filter_=confirmed)
print(create_notification.sync(client=client, body=ops).data.filter_.statuses[0])
change = UpdateNotificationRequest(url="http://127.0.0.1:9/b")
print(update_notification.sync(notification_id="ops", client=client, body=change).data.url)
every = UpdateNotificationRequest(filter_=None)
print("filter", update_notification.sync(notification_id="ops", client=client, body=every).data.filter_ or "none")
print("deleted", str(delete_notification.sync(notification_id="ops", client=client).data.deleted).lower())
missing = get_notification.sync_detailed(notification_id="ops", client=client)
print(missing.status_code.value, missing.parsed.code)
`

/** A schema that would hide a name of Python's. */
const own = ['ResourceWarning_']

test('python: has every operation and schema, and its client calls', async () => {
  const { output, said } = await generate('python')
  expect(said).not.toMatch(/warning|error/i)
  const folder = join(output, '..')
  const files = (await run('find', [output, '-name', '*.py', '!', '-name', '__init__.py'], folder)).split('\n')
  const modules = files.flatMap((file) => found(file, /\/api\/.*\/(\w+)\.py$/g))
  expect(modules).toHaveLength(operationIds.length)
  expect(unknownMethods('openapi-python-client', modules)).toEqual([])
  const models = readFileSync(join(output, 'models', '__init__.py'), 'utf8')
  const lost = objectSchemas.filter((name) => !new RegExp(`import .*\\b${name}_?\\b`, 'i').test(models))
  expect(lost).toEqual([])
  const names = found(models, /^from \.\w+ import \(?\s*(\w+)/gm)
  expect(unknownModels('openapi-python-client', names, { own })).toEqual([])

  const tools = join(folder, 'tools', 'bin')
  await run('python3', ['-m', 'venv', join(tools, '..')], folder)
  await run(join(tools, 'pip'), ['install', '--quiet', 'attrs', 'httpx', 'python-dateutil'], folder)
  const calls = await startCalls()
  writeLater(folder)
  writeFileSync(join(folder, 'program.py'), program)
  const env = { API_KEY: calls.apiKey }
  await calls.expect(await run(join(tools, 'python'), ['program.py', calls.url], folder, env))
})

test('verifies the delivery of the webhook guide with the guide’s Python function', async () => {
  const [, key] = /`(whsec_[^`]+)`/.exec(block()) ?? []
  const [, signature] = /X-Signature: (\S+)/.exec(block('http')) ?? []
  const body = JSON.stringify(JSON.parse(block('json')))
  const check = `${block('python')}\nimport sys\nkey, body, signature = sys.argv[1:]\n`
  const calls = 'print(is_authentic(key, body.encode(), signature), is_authentic(key, body.encode() + b" ", signature))'
  const said = await run('python3', ['-c', check + calls, `${key}`, body, `${signature}`], '.')
  expect(said).toBe('True False')
})
