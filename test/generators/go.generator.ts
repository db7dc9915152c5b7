import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  found,
  generate,
  receiver,
  run,
  schemaNames,
  startCalls,
  unknownMethods,
  unknownModels,
  writeLater,
} from './generated-client.ts'

const program = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"example.com/program/relayer"
	"github.com/oapi-codegen/nullable"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	var later relayer.TransactionResponse
	text, err := os.ReadFile("later.json")
	check(err)
	check(json.Unmarshal(text, &later))
	if later.Data.Status != "resting" {
		panic(later.Data.Status)
	}
	if id := handle("delivery.json"); id == "" {
		panic(id)
	}
	if id := handle("later-event.json"); id != "" {
		panic(id)
	}
	client, err := relayer.NewClientWithResponses(os.Args[1], relayer.WithRequestEditorFn(authorize))
	check(err)
	ctx := context.Background()
	var hello relayer.SignMessageRequest
	check(hello.FromSignTextRequest(relayer.SignTextRequest{Message: "Hello"}))
	signed, err := client.SignMessageWithResponse(ctx, "demo", hello)
	check(err)
	fmt.Println(signed.JSON200.Data.Sig)

	to, key, value := "${receiver}", "one", "1"
	var transfer relayer.SendTransactionRequest
	check(transfer.FromSendTransactionWithDataRequest(relayer.SendTransactionWithDataRequest{To: nullable.NewNullableWithValue(to), Value: nullable.NewNullableWithValue(value)}))
	sent, err := client.SendTransactionWithResponse(ctx, "demo", &relayer.SendTransactionParams{IdempotencyKey: &key}, transfer)
	check(err)
	fmt.Println(sent.JSON201.Data.Id)
	args := []interface{}{to, "1"}
	approve := relayer.SendTransactionWithCallRequest{To: to, Call: relayer.ContractCall{Function: "approve(address,uint256)", Args: &args}}
	check(transfer.FromSendTransactionWithCallRequest(approve))
	sent, err = client.SendTransactionWithResponse(ctx, "demo", nil, transfer)
	check(err)
	fmt.Println(sent.JSON201.Data.Id)

	listed, err := client.ListRelayersWithResponse(ctx, nil)
	check(err)
	fmt.Println(listed.JSON200.Data[0].Id)

	extra, limit := "extra", "5"
	var signer relayer.CreateSignerRequest
	check(signer.FromGeneratedSignerRequest(relayer.GeneratedSignerRequest{Id: &extra, Type: relayer.GeneratedSignerRequestTypeGenerated}))
	extraKey, err := client.CreateSignerWithResponse(ctx, signer)
	check(err)
	fmt.Println(extraKey.JSON201.Data.Type)
	var made relayer.CreateRelayerRequest
	check(made.FromCreateRelayerWithNotificationIdRequest(relayer.CreateRelayerWithNotificationIdRequest{
		Id: &extra, Name: "Extra", Network: "local", NetworkType: relayer.NetworkTypeInputEvm, SignerId: extra,
		Policies: &relayer.RelayerPoliciesInput{MaxValue: &limit},
	}))
	created, err := client.CreateRelayerWithResponse(ctx, made)
	check(err)
	fmt.Println(created.JSON201.Data.Id, *created.JSON201.Data.Policies.MaxValue)
	limit = "7"
	set := func(value nullable.Nullable[string]) *relayer.Relayer {
		var change relayer.UpdateRelayerRequest
		check(change.FromUpdateRelayerWithNotificationIdRequest(relayer.UpdateRelayerWithNotificationIdRequest{
			Policies: nullable.NewNullableWithValue(relayer.RelayerPoliciesPatch{MaxValue: value}),
		}))
		updated, err := client.UpdateRelayerWithResponse(ctx, extra, nil, change)
		check(err)
		return &updated.JSON200.Data
	}
	fmt.Println("extra", *set(nullable.NewNullableWithValue("7")).Policies.MaxValue)
	if set(nullable.NewNullNullable[string]()).Policies.MaxValue == nil {
		fmt.Println("extra none")
	}

	id, url := "ops", "http://127.0.0.1:9/b"
	filter := relayer.NotificationFilterInput{Statuses: nullable.NewNullableWithValue([]relayer.TransactionStatusInput{relayer.TransactionStatusInputConfirmed})}
	ops, err := client.CreateNotificationWithResponse(ctx, relayer.CreateNotificationRequest{Id: &id, Url: "http://127.0.0.1:9", Filter: nullable.NewNullableWithValue(filter)})
	check(err)
	fmt.Println(ops.JSON201.Data.Filter.MustGet().Statuses.MustGet()[0])
	changed, err := client.UpdateNotificationWithResponse(ctx, id, nil, relayer.UpdateNotificationRequest{Url: &url})
	check(err)
	fmt.Println(changed.JSON200.Data.Url)
	every := relayer.UpdateNotificationRequest{Filter: nullable.NewNullNullable[relayer.NotificationFilterPatch]()}
	changed, err = client.UpdateNotificationWithResponse(ctx, id, nil, every)
	check(err)
	if changed.JSON200.Data.Filter.IsNull() {
		fmt.Println("filter none")
	}
	deleted, err := client.DeleteNotificationWithResponse(ctx, id, nil)
	check(err)
	fmt.Println("deleted", deleted.JSON200.Data.Deleted)
	missing, err := client.GetNotificationWithResponse(ctx, id)
	check(err)
	fmt.Println(missing.StatusCode(), missing.JSON404.Code)
}

// The id of the transaction whose status has changed.
func handle(file string) string {
	body, err := os.ReadFile(file)
	check(err)
	var event relayer.WebhookEvent
	check(json.Unmarshal(body, &event))
	if event.Event != "transaction_update" {
		return ""
	}
	var update relayer.TransactionUpdateEvent
	check(json.Unmarshal(body, &update))
	return update.Payload.Id
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

/** What it makes for every contract, and the branches of unions that are no objects, which it numbers. */
const clients = ['Client', 'ClientInterface', 'ClientWithResponses', 'ClientWithResponsesInterface', 'ClientOption']
const webhooks = ['WebhookInitiator', 'WebhookInitiatorInterface', 'WebhookInitiatorOption']
const own = [...clients, ...webhooks, 'HttpRequestDoer', 'RequestEditorFn']
const branches = ['AbiEntry0', 'JsonRpcId0', 'JsonRpcId1', 'TypedDataChainId0', 'TypedDataChainId1']

test('go: has every operation and schema, compiles and calls', async () => {
  const { output } = await generate('go')
  const folder = join(output, '..')
  const source = readFileSync(join(output, 'relayer.go'), 'utf8')
  const calls = found(source, /^func \(c \*ClientWithResponses\) (\w+?)(?:With\w*Body)?WithResponse\(/gm)
  expect(unknownMethods('oapi-codegen', calls)).toEqual([])
  const models = found(source, /^type (\w+) /gm)
  expect(schemaNames.filter((name) => !models.includes(name))).toEqual([])
  const endings = 'JSONRequestBody|Params|Response|Response(?:\\d{3}|Default)Headers'
  expect(unknownModels('oapi-codegen', models, { endings, own: [...own, ...branches] })).toEqual([])

  writeFileSync(join(folder, 'main.go'), program)
  writeLater(folder)
  await run('go', ['mod', 'init', 'example.com/program'], folder)
  await run('go', ['mod', 'tidy'], folder)
  await run('go', ['vet', './...'], folder)
  const service = await startCalls()
  await service.expect(await run('go', ['run', '.', service.url], folder, { API_KEY: service.apiKey }))
})
