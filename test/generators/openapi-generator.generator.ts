import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  answerExamples,
  answerSchemas,
  found,
  generate,
  patchSchemas,
  receiver,
  run,
  runTypeScript,
  startCalls,
  unknownMethods,
  unknownModels,
  writeLater,
} from './generated-client.ts'

/** It makes a method of the webhook too. */
const own = ['receiveEvent']

/** The sources in a folder of a client as one text, and the names of their files. */
function sourcesIn(...folder: string[]) {
  const files = readdirSync(join(...folder)).filter((file) => /\.(?:java|rs|ts)$/.test(file))
  const source = files.map((file) => readFileSync(join(...folder, file), 'utf8')).join('\n')
  return { source, names: files.map((file) => file.replace(/\.\w+$/, '')) }
}

const javaProgram = `
import java.net.URI;
import java.nio.file.*;
import java.util.List;
import java.util.Set;
import org.openapitools.client.*;
import org.openapitools.client.api.*;
import org.openapitools.client.api.NotificationsApi.*;
import org.openapitools.client.api.PoolsApi.*;
import org.openapitools.client.api.RelayersApi.*;
import org.openapitools.client.api.SignersApi.*;
import org.openapitools.client.api.SigningApi.*;
import org.openapitools.client.api.TransactionsApi.*;
import org.openapitools.client.model.*;

public class Program {
  static final ApiClient client = new ApiClient();
  // Each reads the address of the client when it is made.
  static RelayersApi relayers;
  static TransactionsApi transactions;
  static NotificationsApi notifications;

  public static void main(String[] arguments) throws Exception {
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    relayers = new RelayersApi(client);
    transactions = new TransactionsApi(client);
    notifications = new NotificationsApi(client);
    SignMessageRequest hello = new SignMessageRequest(new SignTextRequest().message("Hello"));
    var signing = APISignMessageRequest.newBuilder().relayerId("demo").signMessageRequest(hello).build();
    System.out.println(new SigningApi(client).signMessage(signing).getData().getSig());
    var transfer = new SendTransactionRequest(new SendTransactionWithDataRequest().to("${receiver}").value("1"));
    System.out.println(send(APISendTransactionRequest.newBuilder().sendTransactionRequest(transfer).idempotencyKey("one")));
    ContractCall call = new ContractCall().function("approve(address,uint256)").args(List.of("${receiver}", "1"));
    SendTransactionRequest approve = new SendTransactionRequest(new SendTransactionWithCallRequest().to("${receiver}").call(call));
    System.out.println(send(APISendTransactionRequest.newBuilder().sendTransactionRequest(approve)));
    System.out.println(relayers.listRelayers(APIListRelayersRequest.newBuilder().build()).getData().get(0).getId());
    GeneratedSignerRequest key = new GeneratedSignerRequest().type(GeneratedSignerRequest.TypeEnum.GENERATED).id("extra");
    var signer = APICreateSignerRequest.newBuilder().createSignerRequest(new CreateSignerRequest(key)).build();
    System.out.println(new SignersApi(client).createSigner(signer).getData().getType());
    CreateRelayerWithNotificationIdRequest extra = new CreateRelayerWithNotificationIdRequest().id("extra").name("Extra");
    extra.network("local").networkType(NetworkTypeInput.EVM).paused(false).signerId("extra");
    extra.policies(new RelayerPoliciesInput().maxValue("5"));
    var creation = APICreateRelayerRequest.newBuilder().createRelayerRequest(new CreateRelayerRequest(extra)).build();
    Relayer made = relayers.createRelayer(creation).getData();
    System.out.println(made.getId() + " " + made.getPolicies().getMaxValue());
    System.out.println("extra " + limit(new RelayerPoliciesPatch().maxValue("7")));
    System.out.println("extra " + (limit(new RelayerPoliciesPatch().maxValue(null)) == null ? "none" : "limited"));
    CreateNotificationRequest ops = new CreateNotificationRequest().id("ops").url(URI.create("http://127.0.0.1:9"));
    ops.filter(new NotificationFilterInput().addStatusesItem(TransactionStatusInput.CONFIRMED));
    var notification = APICreateNotificationRequest.newBuilder().createNotificationRequest(ops).build();
    System.out.println(notifications.createNotification(notification).getData().getFilter().getStatuses().get(0));
    System.out.println(change(new UpdateNotificationRequest().url(URI.create("http://127.0.0.1:9/b"))).getUrl());
    System.out.println("filter " + (change(new UpdateNotificationRequest().filter(null)).getFilter() == null ? "none" : "left"));
    var deletion = APIDeleteNotificationRequest.newBuilder().notificationId("ops").build();
    System.out.println("deleted " + notifications.deleteNotification(deletion).getData().getDeleted());
    try {
      notifications.getNotification(APIGetNotificationRequest.newBuilder().notificationId("ops").build());
    } catch (ApiException failure) {
      String code = client.getObjectMapper().readValue(failure.getResponseBody(), Failure.class).getCode();
      System.out.println(failure.getCode() + " " + code);
    }
    leaveLists();
    String later = Files.readString(Path.of("later.json"));
    Transaction read = client.getObjectMapper().readValue(later, TransactionResponse.class).getData();
    if (!read.getStatus().equals("resting")) throw new AssertionError(read);
    if (handle(Files.readString(Path.of("delivery.json"))) == null) throw new AssertionError();
    if (handle(Files.readString(Path.of("later-event.json"))) != null) throw new AssertionError();
  }

  static String send(APISendTransactionRequest.Builder request) throws Exception {
    return transactions.sendTransaction(request.relayerId("demo").build()).getData().getId();
  }

  static String limit(RelayerPoliciesPatch policies) throws Exception {
    var change = new UpdateRelayerRequest(new UpdateRelayerWithNotificationIdRequest().policies(policies));
    var request = APIUpdateRelayerRequest.newBuilder().relayerId("extra").updateRelayerRequest(change).build();
    return relayers.updateRelayer(request).getData().getPolicies().getMaxValue();
  }

  static Notification change(UpdateNotificationRequest change) throws Exception {
    var request = APIUpdateNotificationRequest.newBuilder().notificationId("ops").updateNotificationRequest(change).build();
    return notifications.updateNotification(request).getData();
  }

  // A list or map that a PATCH leaves out is not sent, so that it stays.
  static void leaveLists() throws Exception {
    PoolsApi pools = new PoolsApi(client);
    CreatePoolRequest pool = new CreatePoolRequest().id("payouts").network("local").relayerIds(Set.of("demo"));
    pool.policies(new PoolPoliciesInput().whitelistReceivers(List.of("${receiver}")));
    pools.createPool(APICreatePoolRequest.newBuilder().createPoolRequest(pool).build());
    UpdatePoolRequest change = new UpdatePoolRequest().name("Payouts").policies(new PoolPoliciesPatch().maxValue("9"));
    pools.updatePool(APIUpdatePoolRequest.newBuilder().poolId("payouts").updatePoolRequest(change).build());
    Pool read = pools.getPool(APIGetPoolRequest.newBuilder().poolId("payouts").build()).getData();
    if (!read.getName().equals("Payouts") || !read.getPolicies().getMaxValue().equals("9")) throw new AssertionError(read);
    if (!read.getPolicies().getWhitelistReceivers().contains("${receiver}")) throw new AssertionError(read);
    if (read.getRelayers().size() != 1) throw new AssertionError(read);
    for (Object body : List.of(${patchSchemas.map((name) => `new ${name}()`).join(', ')})) {
      String json = client.getObjectMapper().writeValueAsString(body);
      if (!json.equals("{}")) throw new AssertionError(body.getClass() + " " + json);
    }
  }

  static String handle(String body) throws Exception {
    WebhookEvent event = client.getObjectMapper().readValue(body, WebhookEvent.class);
    if (!event.getEvent().equals("transaction_update")) return null;
    return client.getObjectMapper().readValue(body, TransactionUpdateEvent.class).getPayload().getId();
  }
}
`

test('java: has every operation, compiles and calls', async () => {
  const { output } = await generate('java')
  const main = join(output, 'src', 'main', 'java')
  const [apis, models] = ['api', 'model'].map((folder) => sourcesIn(main, 'org', 'openapitools', 'client', folder))
  const methods = found(apis?.source ?? '', /^ {2}public [\w<>]+ (\w+?)(?:WithHttpInfo)?\(.*\) throws ApiException/gm)
  expect(unknownMethods('java', methods, [...own, 'downloadFileFromResponse'])).toEqual([])
  expect(unknownModels('java', models?.names ?? [], { own: ['AbstractOpenApiSchema'] })).toEqual([])
  writeFileSync(join(main, 'Program.java'), javaProgram)
  writeLater(output)
  await run('mvn', ['-q', 'compile'], output)
  await run('mvn', ['-q', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'], output)
  const classpath = `${join(output, 'target', 'classes')}:${readFileSync(join(output, 'classpath'), 'utf8').trim()}`
  const calls = await startCalls()
  await calls.expect(await run('java', ['-cp', classpath, 'Program', calls.url, calls.apiKey], output))
})

const rustProgram = `
use openapi::apis::{configuration::Configuration, Error};
use openapi::apis::{notifications_api::*, relayers_api::*, signers_api::*, signing_api::*, transactions_api::*};
use openapi::models::*;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut client = Configuration::new();
    client.base_path = arguments[1].clone();
    client.bearer_access_token = Some(arguments[2].clone());
    let hello = SignMessageRequest::SignTextRequest(Box::new(SignTextRequest::new("Hello".to_string())));
    let signing = SignMessageParams { relayer_id: "demo".to_string(), sign_message_request: hello };
    println!("{}", sign_message(&client, signing).await.unwrap().data.sig);
    let mut transfer = SendTransactionWithDataRequest::new();
    transfer.to = Some(Some("${receiver}".to_string()));
    transfer.value = Some(Some("1".to_string()));
    println!("{}", send(&client, SendTransactionRequest::SendTransactionWithDataRequest(Box::new(transfer)), Some("one".to_string())).await);
    let mut call = ContractCall::new("approve(address,uint256)".to_string());
    call.args = Some(vec![serde_json::json!("${receiver}"), serde_json::json!("1")]);
    let approve = SendTransactionRequest::SendTransactionWithCallRequest(Box::new(SendTransactionWithCallRequest::new("${receiver}".to_string(), call)));
    println!("{}", send(&client, approve, None).await);
    let first_page = ListRelayersParams { page: None, per_page: None };
    println!("{}", list_relayers(&client, first_page).await.unwrap().data[0].id);
    let mut key = GeneratedSignerRequest::new(generated_signer_request::Type::Generated);
    key.id = Some("extra".to_string());
    let create_signer_request = CreateSignerRequest::GeneratedSignerRequest(Box::new(key));
    println!("{}", create_signer(&client, CreateSignerParams { create_signer_request }).await.unwrap().data.r#type);
    let name = || "extra".to_string();
    let mut extra = CreateRelayerWithNotificationIdRequest::new(name(), "local".to_string(), NetworkTypeInput::Evm, false, name());
    extra.id = Some(name());
    let mut policies = RelayerPoliciesInput::new();
    policies.max_value = Some("5".to_string());
    extra.policies = Some(Box::new(policies));
    let create_relayer_request = CreateRelayerRequest::CreateRelayerWithNotificationIdRequest(Box::new(extra));
    let made = create_relayer(&client, CreateRelayerParams { create_relayer_request }).await.unwrap().data;
    println!("{} {}", made.id, made.policies.max_value.unwrap());
    println!("extra {}", limit(&client, Some("7".to_string())).await.unwrap());
    println!("extra {}", limit(&client, None).await.unwrap_or("none".to_string()));
    let mut ops = CreateNotificationRequest::new("http://127.0.0.1:9".to_string());
    ops.id = Some("ops".to_string());
    let mut filter = NotificationFilterInput::new();
    filter.statuses = Some(Some(vec![TransactionStatusInput::Confirmed]));
    ops.filter = Some(Some(Box::new(filter)));
    let created = create_notification(&client, CreateNotificationParams { create_notification_request: ops }).await;
    println!("{}", created.unwrap().data.filter.unwrap().statuses.unwrap()[0]);
    let mut url = UpdateNotificationRequest::new();
    url.url = Some("http://127.0.0.1:9/b".to_string());
    println!("{}", change(&client, url).await.url);
    let mut every = UpdateNotificationRequest::new();
    every.filter = Some(None);
    println!("filter {}", change(&client, every).await.filter.map_or("none", |_| "left"));
    let deletion = DeleteNotificationParams { notification_id: "ops".to_string(), if_match: None };
    println!("deleted {}", delete_notification(&client, deletion).await.unwrap().data.deleted);
    match get_notification(&client, GetNotificationParams { notification_id: "ops".to_string() }).await {
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

async fn send(client: &Configuration, send_transaction_request: SendTransactionRequest, idempotency_key: Option<String>) -> String {
    let relayer_id = "demo".to_string();
    let params = SendTransactionParams { relayer_id, send_transaction_request, idempotency_key, wait: None, wait_seconds: None };
    send_transaction(client, params).await.unwrap().data.id
}

async fn limit(client: &Configuration, max_value: Option<String>) -> Option<String> {
    let mut policies = RelayerPoliciesPatch::new();
    policies.max_value = Some(max_value);
    let mut change = UpdateRelayerWithNotificationIdRequest::new();
    change.policies = Some(Some(Box::new(policies)));
    let update_relayer_request = UpdateRelayerRequest::UpdateRelayerWithNotificationIdRequest(Box::new(change));
    let params = UpdateRelayerParams { relayer_id: "extra".to_string(), update_relayer_request, if_match: None };
    update_relayer(client, params).await.unwrap().data.policies.max_value
}

async fn change(client: &Configuration, update_notification_request: UpdateNotificationRequest) -> Notification {
    let params = UpdateNotificationParams { notification_id: "ops".to_string(), update_notification_request, if_match: None };
    *update_notification(client, params).await.unwrap().data
}

fn handle(body: &str) -> Option<String> {
    let event: WebhookEvent = serde_json::from_str(body).unwrap();
    if event.event != "transaction_update" {
        return None;
    }
    Some(serde_json::from_str::<TransactionUpdateEvent>(body).unwrap().payload.id)
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
  const { output } = await generate('rust')
  const [apis, models] = ['apis', 'models'].map((folder) => sourcesIn(output, 'src', folder))
  expect(unknownMethods('rust', found(apis?.source ?? '', /^pub async fn (\w+)\(/gm), own)).toEqual([])
  expect(unknownModels('rust', found(models?.source ?? '', /^pub use self::\w+::(\w+);/gm))).toEqual([])
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
for (const maxValue of ['7', null]) {
  const updateRelayerRequest = { policies: { maxValue } }
  const limited = await relayers.updateRelayer({ relayerId: 'extra', updateRelayerRequest })
  console.log('extra', limited.data.policies?.maxValue ?? 'none')
}
const notifications = new relayer.NotificationsApi(configuration)
const url = 'http://127.0.0.1:9'
const filter: relayer.NotificationFilterInput = { statuses: ['confirmed'] }
const createNotificationRequest = { id: 'ops', type: 'webhook', url, filter } as const
const ops = await notifications.createNotification({ createNotificationRequest })
console.log(ops.data.filter?.statuses?.[0])
const path = { notificationId: 'ops' }
const changed = await notifications.updateNotification({ ...path, updateNotificationRequest: { url: url + '/b' } })
console.log(changed.data.url)
const every = await notifications.updateNotification({ ...path, updateNotificationRequest: { filter: null } })
console.log('filter', every.data.filter ?? 'none')
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
const delivery = JSON.parse(readFileSync('delivery.json', 'utf8'))
deepEqual(relayer.WebhookEventFromJSON(delivery).event, 'transaction_update')
deepEqual(relayer.TransactionUpdateEventFromJSON(delivery).payload.status, 'confirmed')
const later = JSON.parse(readFileSync('later-event.json', 'utf8'))
deepEqual(relayer.WebhookEventFromJSON(later).event, 'relayer_renamed')
deepEqual(relayer.WebhookEventFromJSON(later).payload, later.payload)
`

test('typescript-fetch: has every operation, compiles and calls', async () => {
  const { output } = await generate('typescript-fetch')
  const [apis, models] = ['apis', 'models'].map((folder) => sourcesIn(output, folder))
  expect(
    unknownMethods('typescript-fetch', found(apis?.source ?? '', /^ {4}async (\w+?)(?:Raw|RequestOpts)?\(/gm), own),
  ).toEqual([])
  expect(unknownModels('typescript-fetch', models?.names ?? [], { own: ['index'] })).toEqual([])
  writeFileSync(join(output, 'examples.json'), JSON.stringify(answerExamples))
  writeLater(output)
  const calls = await startCalls()
  await calls.expect(await runTypeScript(output, fetchProgram, calls))
})
