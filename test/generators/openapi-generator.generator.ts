import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import {
  answerExamples,
  answerSchemas,
  block,
  contract,
  inventedNames,
  laterEvent,
  laterTransaction,
  operationIds,
  receiver,
  run,
  runTypeScript,
  startCalls,
} from './generated-client.ts'

const version = '7.25.0'

/** The folder with the generated client, and its sources as one text. Maven brings the generator. */
async function generate(name: string, options: string[] = []) {
  const folder = temporaryFolder()
  const artifact = `org.openapitools:openapi-generator-cli:${version}`
  await run('mvn', ['-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`], folder)
  const jar = join(folder, `openapi-generator-cli-${version}.jar`)
  const output = join(folder, 'client')
  await run('java', ['-jar', jar, 'generate', '-i', contract, '-g', name, '-o', output, ...options], folder)
  const files = readdirSync(output, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(?:java|rs|ts)$/.test(file),
  )
  return { output, source: files.map((file) => readFileSync(join(output, file), 'utf8')).join('\n'), files }
}

/** The delivery of the webhook guide, and what a later version may answer and deliver. */
function writeLater(output: string): void {
  writeFileSync(join(output, 'delivery.json'), block('json'))
  writeFileSync(join(output, 'later.json'), laterTransaction('resting'))
  writeFileSync(join(output, 'later-event.json'), laterEvent())
}

const snake = (id: string) => id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The names of the files in a folder of models. */
const modelsIn = (files: string[], folder: string) =>
  files.flatMap((file) => (file.includes(folder) ? [file.replace(/.*\/|\.\w+$/g, '')] : []))

const javaProgram = `
import java.net.URI;
import java.nio.file.*;
import java.util.List;
import org.openapitools.client.*;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

public class Program {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    SignMessageRequest hello = new SignMessageRequest(new SignTextRequest().message("Hello"));
    System.out.println(new SigningApi(client).signMessage("demo", hello).getData().getSig());
    SendDataRequest transfer = new SendDataRequest().to("${receiver}").value("1");
    TransactionsApi transactions = new TransactionsApi(client);
    var sent = transactions.sendTransaction("demo", new SendTransactionRequest(transfer), "one", null, null);
    System.out.println(sent.getData().getId());
    ContractCall call = new ContractCall().function("approve(address,uint256)").args(List.of("${receiver}", "1"));
    SendTransactionRequest approve = new SendTransactionRequest(new SendCallRequest().to("${receiver}").call(call));
    System.out.println(transactions.sendTransaction("demo", approve, null, null, null).getData().getId());
    RelayersApi relayers = new RelayersApi(client);
    System.out.println(relayers.listRelayers(1L, 10L).getData().get(0).getId());
    GeneratedSignerRequest key = new GeneratedSignerRequest().type(GeneratedSignerRequest.TypeEnum.GENERATED).id("extra");
    System.out.println(new SignersApi(client).createSigner(new CreateSignerRequest(key)).getData().getType());
    CreateRelayerWithOneNotification extra = new CreateRelayerWithOneNotification().id("extra").name("Extra");
    extra.network("local").networkType(NetworkTypeInput.EVM).paused(false).signerId("extra");
    extra.policies(new RelayerPoliciesInput().maxValue("5"));
    Relayer made = relayers.createRelayer(new CreateRelayerRequest(extra)).getData();
    System.out.println(made.getId() + " " + made.getPolicies().getMaxValue());
    var higher = new UpdateRelayerWithOneNotification().policies(new RelayerPoliciesPatch().maxValue("7"));
    Relayer changed = relayers.updateRelayer("extra", new UpdateRelayerRequest(higher), null).getData();
    System.out.println("extra " + changed.getPolicies().getMaxValue());
    NotificationsApi notifications = new NotificationsApi(client);
    URI url = URI.create("http://127.0.0.1:9");
    notifications.createNotification(new CreateNotificationRequest().id("ops").url(url));
    UpdateNotificationRequest change = new UpdateNotificationRequest().url(URI.create("http://127.0.0.1:9/b"));
    System.out.println(notifications.updateNotification("ops", change, null).getData().getUrl());
    System.out.println("deleted " + notifications.deleteNotification("ops", null).getData().getDeleted());
    try {
      notifications.getNotification("ops");
    } catch (ApiException failure) {
      String code = client.getObjectMapper().readValue(failure.getResponseBody(), Failure.class).getCode();
      System.out.println(failure.getCode() + " " + code);
    }
    String later = Files.readString(Path.of("later.json"));
    Transaction read = client.getObjectMapper().readValue(later, TransactionResponse.class).getData();
    if (!read.getStatus().equals("resting")) throw new AssertionError(read);
    if (handle(client, Files.readString(Path.of("delivery.json"))) == null) throw new AssertionError();
    if (handle(client, Files.readString(Path.of("later-event.json"))) != null) throw new AssertionError();
  }

  static String handle(ApiClient client, String body) throws Exception {
    WebhookEvent event = client.getObjectMapper().readValue(body, WebhookEvent.class);
    if (!event.getEvent().equals("transaction_update")) return null;
    return client.getObjectMapper().convertValue(event.getPayload(), TransactionPayload.class).getId();
  }
}
`

test('java: has every operation, compiles and calls', async () => {
  const { output, source, files } = await generate('java', [
    '--library',
    'native',
    '--additional-properties',
    'containerDefaultToNull=true',
  ])
  expect(operationIds.filter((id) => !source.includes(` ${id}(`))).toEqual([])
  expect(inventedNames('java', 'methods', operationIds)).toEqual([])
  expect(inventedNames('java', 'models', modelsIn(files, 'main/java/org/openapitools/client/model/'))).toEqual([])
  writeFileSync(join(output, 'src', 'main', 'java', 'Program.java'), javaProgram)
  writeLater(output)
  await run('mvn', ['-q', 'compile'], output)
  await run('mvn', ['-q', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'], output)
  const classpath = `${join(output, 'target', 'classes')}:${readFileSync(join(output, 'classpath'), 'utf8').trim()}`
  const calls = await startCalls()
  await calls.expect(await run('java', ['-cp', classpath, 'Program', calls.url, calls.apiKey], output))
})

const rustProgram = `
use openapi::apis::{configuration::Configuration, notifications_api::*, relayers_api, signers_api, signing_api, transactions_api, Error};
use openapi::models::*;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut client = Configuration::new();
    client.base_path = arguments[1].clone();
    client.bearer_access_token = Some(arguments[2].clone());
    let hello = SignMessageRequest::SignTextRequest(Box::new(SignTextRequest::new("Hello".to_string())));
    println!("{}", signing_api::sign_message(&client, "demo", hello).await.unwrap().data.sig);
    let mut transfer = SendDataRequest::new();
    transfer.to = Some(Some("${receiver}".to_string()));
    transfer.value = Some("1".to_string());
    let transfer = SendTransactionRequest::SendDataRequest(Box::new(transfer));
    let sent = transactions_api::send_transaction(&client, "demo", transfer, Some("one"), None, None).await.unwrap();
    println!("{}", sent.data.id);
    let mut call = ContractCall::new("approve(address,uint256)".to_string());
    call.args = Some(vec![serde_json::json!("${receiver}"), serde_json::json!("1")]);
    let approve = SendTransactionRequest::SendCallRequest(Box::new(SendCallRequest::new("${receiver}".to_string(), call)));
    println!("{}", transactions_api::send_transaction(&client, "demo", approve, None, None, None).await.unwrap().data.id);
    println!("{}", relayers_api::list_relayers(&client, None, None).await.unwrap().data[0].id);
    let mut key = GeneratedSignerRequest::new(generated_signer_request::Type::Generated);
    key.id = Some("extra".to_string());
    let key = CreateSignerRequest::GeneratedSignerRequest(Box::new(key));
    println!("{}", signers_api::create_signer(&client, key).await.unwrap().data.r#type);
    let name = || "extra".to_string();
    let mut extra = CreateRelayerWithOneNotification::new(name(), "local".to_string(), NetworkTypeInput::Evm, false, name());
    extra.id = Some(name());
    let mut policies = RelayerPoliciesInput::new();
    policies.max_value = Some("5".to_string());
    extra.policies = Some(Box::new(policies));
    let extra = CreateRelayerRequest::CreateRelayerWithOneNotification(Box::new(extra));
    let made = relayers_api::create_relayer(&client, extra).await.unwrap().data;
    println!("{} {}", made.id, made.policies.max_value.unwrap());
    let mut higher = UpdateRelayerWithOneNotification::new();
    let mut policies = RelayerPoliciesPatch::new();
    policies.max_value = Some(Some("7".to_string()));
    higher.policies = Some(Some(Box::new(policies)));
    let higher = UpdateRelayerRequest::UpdateRelayerWithOneNotification(Box::new(higher));
    let changed = relayers_api::update_relayer(&client, "extra", higher, None).await.unwrap().data;
    println!("extra {}", changed.policies.max_value.unwrap());
    let mut ops = CreateNotificationRequest::new("http://127.0.0.1:9".to_string());
    ops.id = Some("ops".to_string());
    create_notification(&client, ops).await.unwrap();
    let mut change = UpdateNotificationRequest::new();
    change.url = Some("http://127.0.0.1:9/b".to_string());
    println!("{}", update_notification(&client, "ops", change, None).await.unwrap().data.url);
    println!("deleted {}", delete_notification(&client, "ops", None).await.unwrap().data.deleted);
    match get_notification(&client, "ops").await {
        Err(Error::ResponseError(answer)) => {
            let failure: Failure = serde_json::from_str(&answer.content).unwrap();
            println!("{} {}", answer.status.as_u16(), failure.code);
        }
        other => panic!("{:?}", other),
    }
    read_examples();
    let later = std::fs::read_to_string("later.json").unwrap();
    assert_eq!(serde_json::from_str::<TransactionResponse>(&later).unwrap().data.status, "resting");
    assert!(handle(&std::fs::read_to_string("delivery.json").unwrap()).is_some());
    assert!(handle(&std::fs::read_to_string("later-event.json").unwrap()).is_none());
}

fn handle(body: &str) -> Option<String> {
    let event: WebhookEvent = serde_json::from_str(body).unwrap();
    if event.event != "transaction_update" {
        return None;
    }
    let payload = serde_json::to_value(event.payload).unwrap();
    Some(serde_json::from_value::<TransactionPayload>(payload).unwrap().id)
}

fn read_examples() {
    let examples: serde_json::Value = serde_json::from_str(&std::fs::read_to_string("examples.json").unwrap()).unwrap();
    for example in examples.as_array().unwrap() {
        let value = example["value"].clone();
        let again = match example["schema"].as_str().unwrap() {
            ${answerSchemas.map((name) => `"${name}" => again::<${name}>(value.clone()),`).join('\n            ')}
            _ => continue,
        };
        assert_eq!(again, value, "{}", example["schema"]);
    }
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: serde_json::Value) -> serde_json::Value {
    serde_json::to_value(serde_json::from_value::<T>(value).unwrap()).unwrap()
}
`

test('rust: has every operation, compiles and calls', async () => {
  const { output, source, files } = await generate('rust')
  expect(operationIds.filter((id) => !source.includes(`fn ${snake(id)}(`))).toEqual([])
  const models = modelsIn(files, 'src/models/')
  expect(inventedNames('rust', 'methods', operationIds.map(snake))).toEqual([])
  expect(inventedNames('rust', 'models', models)).toEqual([])
  mkdirSync(join(output, 'src', 'bin'))
  writeFileSync(join(output, 'src', 'bin', 'program.rs'), rustProgram)
  // Rust writes a time without a fraction where it is a whole second.
  writeFileSync(join(output, 'examples.json'), JSON.stringify(answerExamples).replaceAll('.000Z', 'Z'))
  writeLater(output)
  await run('cargo', ['add', '--quiet', 'tokio@1', '--features', 'macros,rt'], output)
  // Without TLS, for which the machine would need a library.
  await run('cargo', ['build', '--quiet', '--no-default-features'], output)
  const calls = await startCalls()
  await calls.expect(await run(join(output, 'target', 'debug', 'program'), [calls.url, calls.apiKey], output))
})

const fetchProgram = `
import { deepEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import * as relayer from './index'

const [basePath, accessToken] = process.argv.slice(2) as [string, string]
const configuration = new relayer.Configuration({ basePath, accessToken })
const demo = { relayerId: 'demo' }
const signing = new relayer.SigningApi(configuration)
const signed = await signing.signMessage({ ...demo, signMessageRequest: { message: 'Hello' } })
console.log(signed.data.sig)
const transactions = new relayer.TransactionsApi(configuration)
const sendTransactionRequest = { to: '${receiver}', value: '1' }
const sent = await transactions.sendTransaction({ ...demo, sendTransactionRequest, idempotencyKey: 'one' })
console.log(sent.data.id)
const call = { _function: 'approve(address,uint256)', args: ['${receiver}', '1'] }
const called = await transactions.sendTransaction({ ...demo, sendTransactionRequest: { to: '${receiver}', call } })
console.log(called.data.id)
const relayers = new relayer.RelayersApi(configuration)
console.log((await relayers.listRelayers()).data[0]?.id)
const createSignerRequest = { type: 'generated', id: 'extra' } as const
console.log((await new relayer.SignersApi(configuration).createSigner({ createSignerRequest })).data.type)
const ids = { id: 'extra', name: 'Extra', network: 'local', signerId: 'extra' } as const
const createRelayerRequest = { ...ids, networkType: 'evm', paused: false, policies: { maxValue: '5' } } as const
const made = await relayers.createRelayer({ createRelayerRequest })
console.log(made.data.id, made.data.policies?.maxValue)
const updateRelayerRequest = { policies: { maxValue: '7' } }
const higher = await relayers.updateRelayer({ relayerId: 'extra', updateRelayerRequest })
console.log('extra', higher.data.policies?.maxValue)
const notifications = new relayer.NotificationsApi(configuration)
const url = 'http://127.0.0.1:9'
await notifications.createNotification({ createNotificationRequest: { id: 'ops', type: 'webhook', url } })
const path = { notificationId: 'ops' }
const changed = await notifications.updateNotification({ ...path, updateNotificationRequest: { url: url + '/b' } })
console.log(changed.data.url)
console.log('deleted', (await notifications.deleteNotification(path)).data.deleted)
const failure = await notifications.getNotification(path).catch((error) => error.response)
console.log(failure.status, (await failure.json()).code)
for (const { schema, value } of JSON.parse(readFileSync('examples.json', 'utf8'))) {
  const module: Record<string, any> = relayer
  if (schema === 'JsonRpcResult') continue
  const again = module[schema + 'ToJSON'](module[schema + 'FromJSON'](value))
  deepEqual(JSON.parse(JSON.stringify(again)), value)
}
deepEqual(relayer.TransactionResponseFromJSON(JSON.parse(readFileSync('later.json', 'utf8'))).data.status, 'resting')
const delivery = relayer.WebhookEventFromJSON(JSON.parse(readFileSync('delivery.json', 'utf8')))
deepEqual([delivery.event, relayer.TransactionPayloadFromJSON(delivery.payload).status], ['transaction_update', 'confirmed'])
const later = JSON.parse(readFileSync('later-event.json', 'utf8'))
deepEqual(relayer.WebhookEventFromJSON(later).event, 'relayer_renamed')
deepEqual(relayer.WebhookEventFromJSON(later).payload, later.payload)
`

test('typescript-fetch: has every operation, compiles and calls', async () => {
  const { output, source, files } = await generate('typescript-fetch')
  expect(operationIds.filter((id) => !source.includes(`async ${id}(`))).toEqual([])
  expect(inventedNames('typescript-fetch', 'models', modelsIn(files, 'models/'))).toEqual([])
  writeFileSync(join(output, 'examples.json'), JSON.stringify(answerExamples))
  writeLater(output)
  const calls = await startCalls()
  await calls.expect(await runTypeScript(output, fetchProgram, calls))
})
