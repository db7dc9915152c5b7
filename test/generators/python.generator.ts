import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import {
  block,
  contract,
  inventedNames,
  laterEvent,
  laterTransaction,
  objectSchemas,
  operationIds,
  receiver,
  run,
  startCalls,
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
from relayer.models import ContractCall, CreateNotificationRequest, CreateRelayerWithOneNotification, WebhookEvent
from relayer.models import GeneratedSignerRequest, NetworkTypeInput, RelayerPoliciesInput, SendCallRequest, SendDataRequest
from relayer.models import SignTextRequest, TransactionPayload, TransactionResponse, UpdateNotificationRequest
from relayer.models import RelayerPoliciesPatch, UpdateRelayerWithOneNotification

assert compileall.compile_dir("relayer", quiet=1)
for module in pkgutil.walk_packages(relayer.__path__, "relayer."):
    importlib.import_module(module.name)

delivery = json.loads(pathlib.Path("delivery.json").read_text())

def handle(body):
    event = WebhookEvent.from_dict(json.loads(body))
    if event.event != "transaction_update":
        return None
    return TransactionPayload.from_dict(event.payload.to_dict()).id

assert handle(pathlib.Path("delivery.json").read_text()) == delivery["payload"]["id"]
assert handle(pathlib.Path("later-event.json").read_text()) is None

later = TransactionResponse.from_dict(json.loads(pathlib.Path("later.json").read_text()))
assert later.additional_properties == {"later_member": True}
assert later.data.additional_properties == {"later_member": {"is": "unknown"}}
assert later.data.status == "resting"

client = AuthenticatedClient(base_url=sys.argv[1], token=os.environ["API_KEY"])
answer = sign_message.sync(relayer_id="demo", client=client, body=SignTextRequest(message="Hello"))
print(answer.data.sig)
transfer = SendDataRequest(to="${receiver}", value="1")
print(send_transaction.sync(relayer_id="demo", client=client, body=transfer, idempotency_key="one").data.id)
call = ContractCall(function="approve(address,uint256)", args=["${receiver}", "1"])
approve = SendCallRequest(to="${receiver}", call=call)
print(send_transaction.sync(relayer_id="demo", client=client, body=approve).data.id)
print(list_relayers.sync(client=client).data[0].id)
key = GeneratedSignerRequest(type_="generated", id="extra")
print(create_signer.sync(client=client, body=key).data.type_)
extra = CreateRelayerWithOneNotification(
    id="extra", name="Extra", network="local", network_type=NetworkTypeInput.EVM, paused=False, signer_id="extra",
    policies=RelayerPoliciesInput(max_value="5"),
)
made = create_relayer.sync(client=client, body=extra).data
print(made.id, made.policies.max_value)
higher = UpdateRelayerWithOneNotification(policies=RelayerPoliciesPatch(max_value="7"))
print("extra", update_relayer.sync(relayer_id="extra", client=client, body=higher).data.policies.max_value)
create_notification.sync(client=client, body=CreateNotificationRequest(id="ops", url="http://127.0.0.1:9"))
change = UpdateNotificationRequest(url="http://127.0.0.1:9/b")
print(update_notification.sync(notification_id="ops", client=client, body=change).data.url)
print("deleted", str(delete_notification.sync(notification_id="ops", client=client).data.deleted).lower())
missing = get_notification.sync_detailed(notification_id="ops", client=client)
print(missing.status_code.value, missing.parsed.code)
`

test('openapi-python-client: generates every operation and schema, and its client calls', async () => {
  const tools = join(temporaryFolder(), 'bin')
  await run('python3', ['-m', 'venv', join(tools, '..')], '.')
  await run(join(tools, 'pip'), ['install', '--quiet', 'openapi-python-client==0.29.1'], '.')
  const generator = join(tools, 'openapi-python-client')
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'config.yaml'), 'post_hooks: []\n')
  const output = join(folder, 'relayer')
  const options = ['--path', contract, '--output-path', output, '--meta', 'none', '--config', 'config.yaml']
  const said = await run(generator, ['generate', ...options], folder)
  expect(said).not.toMatch(/warning|error/i)

  const files = (await run('find', [output, '-name', '*.py', '!', '-name', '__init__.py'], folder)).split('\n')
  expect(files.filter((file) => file.includes('/api/'))).toHaveLength(operationIds.length)
  const models = readFileSync(join(output, 'models', '__init__.py'), 'utf8')
  const lost = objectSchemas.filter((name) => !new RegExp(`import .*\\b${name}_?\\b`, 'i').test(models))
  expect(lost).toEqual([])

  const names = [...models.matchAll(/^from \.\w+ import \(?\s*(\w+)/gm)].map(([, name = '']) => name)
  expect(inventedNames('openapi-python-client', 'models', names).filter((name) => !/Type\d$/.test(name))).toEqual([])

  const calls = await startCalls()
  writeFileSync(join(folder, 'delivery.json'), block('json'))
  writeFileSync(join(folder, 'later.json'), laterTransaction('resting'))
  writeFileSync(join(folder, 'later-event.json'), laterEvent())
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
