import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import {
  block,
  contract,
  inventedNames,
  laterEvent,
  laterTransaction,
  operationIds,
  receiver,
  run,
  schemaNames,
  startCalls,
} from './generated-client.ts'

const program = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"example.com/program/relayer"
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
	var event relayer.WebhookEvent
	text, err = os.ReadFile("later-event.json")
	check(err)
	check(json.Unmarshal(text, &event))
	if event.Event != "relayer_renamed" || event.Payload["relayer_id"] != "demo" {
		panic(event.Event)
	}
	var delivery relayer.WebhookEvent
	text, err = os.ReadFile("delivery.json")
	check(err)
	check(json.Unmarshal(text, &delivery))
	text, err = json.Marshal(delivery.Payload)
	check(err)
	var update relayer.TransactionPayload
	check(json.Unmarshal(text, &update))
	if update.Status != "confirmed" {
		panic(update.Status)
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
	check(transfer.FromSendDataRequest(relayer.SendDataRequest{To: &to, Value: &value}))
	sent, err := client.SendTransactionWithResponse(ctx, "demo", &relayer.SendTransactionParams{IdempotencyKey: &key}, transfer)
	check(err)
	fmt.Println(sent.JSON201.Data.Id)
	args := []interface{}{to, "1"}
	approve := relayer.SendCallRequest{To: to, Call: relayer.ContractCall{Function: "approve(address,uint256)", Args: &args}}
	check(transfer.FromSendCallRequest(approve))
	sent, err = client.SendTransactionWithResponse(ctx, "demo", nil, transfer)
	check(err)
	fmt.Println(sent.JSON201.Data.Id)

	listed, err := client.ListRelayersWithResponse(ctx, nil)
	check(err)
	fmt.Println(listed.JSON200.Data[0].Id)

	extra, limit := "extra", "5"
	var signer relayer.CreateSignerRequest
	check(signer.FromGeneratedSignerRequest(relayer.GeneratedSignerRequest{Id: &extra, Type: relayer.Generated}))
	extraKey, err := client.CreateSignerWithResponse(ctx, signer)
	check(err)
	fmt.Println(extraKey.JSON201.Data.Type)
	var made relayer.CreateRelayerRequest
	check(made.FromCreateRelayerWithOneNotification(relayer.CreateRelayerWithOneNotification{
		Id: &extra, Name: "Extra", Network: "local", NetworkType: relayer.Evm, SignerId: extra,
		Policies: &relayer.RelayerPoliciesInput{MaxValue: &limit},
	}))
	created, err := client.CreateRelayerWithResponse(ctx, made)
	check(err)
	fmt.Println(created.JSON201.Data.Id, *created.JSON201.Data.Policies.MaxValue)
	limit = "7"
	var higher relayer.UpdateRelayerRequest
	check(higher.FromUpdateRelayerWithOneNotification(relayer.UpdateRelayerWithOneNotification{
		Policies: &relayer.RelayerPoliciesPatch{MaxValue: &limit},
	}))
	updated, err := client.UpdateRelayerWithResponse(ctx, extra, nil, higher)
	check(err)
	fmt.Println("extra", *updated.JSON200.Data.Policies.MaxValue)

	id, url := "ops", "http://127.0.0.1:9/b"
	_, err = client.CreateNotificationWithResponse(ctx, relayer.CreateNotificationRequest{Id: &id, Url: "http://127.0.0.1:9"})
	check(err)
	changed, err := client.UpdateNotificationWithResponse(ctx, id, nil, relayer.UpdateNotificationRequest{Url: &url})
	check(err)
	fmt.Println(changed.JSON200.Data.Url)
	deleted, err := client.DeleteNotificationWithResponse(ctx, id, nil)
	check(err)
	fmt.Println("deleted", deleted.JSON200.Data.Deleted)
	missing, err := client.GetNotificationWithResponse(ctx, id)
	check(err)
	fmt.Println(missing.StatusCode(), missing.JSON404.Code)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

test('oapi-codegen: generates every operation and schema, and its client calls', async () => {
  const tools = temporaryFolder()
  await run('go', ['install', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'], tools, {
    GOBIN: tools,
  })
  const generator = join(tools, 'oapi-codegen')
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'relayer'))
  const file = join(folder, 'relayer', 'relayer.go')
  const options = ['-generate', 'types,client,skip-prune', '-package', 'relayer', '-o', file]
  await run(generator, [...options, contract], folder)
  const source = readFileSync(file, 'utf8')
  const lost = operationIds.filter((id) => !new RegExp(`\\) ${id}(?:WithBody)?WithResponse\\(`, 'i').test(source))
  expect(lost).toEqual([])
  expect(schemaNames.filter((name) => !new RegExp(`^(?:type )?\\s*${name}\\b`, 'm').test(source))).toEqual([])

  const models = [...source.matchAll(/^type (\w+) (?:struct|=|string|int)/gm)].map(([, name = '']) => name)
  // It numbers the branches of unions, and appends the item of a list.
  const named = models.filter((name) => schemaNames.includes(name))
  expect(inventedNames('oapi-codegen', 'models', named).filter((name) => !schemaNames.includes(name))).toEqual([])

  writeFileSync(join(folder, 'main.go'), program)
  writeFileSync(join(folder, 'later.json'), laterTransaction('resting'))
  writeFileSync(join(folder, 'later-event.json'), laterEvent())
  writeFileSync(join(folder, 'delivery.json'), block('json'))
  await run('go', ['mod', 'init', 'example.com/program'], folder)
  await run('go', ['mod', 'tidy'], folder)
  await run('go', ['vet', './...'], folder)
  const calls = await startCalls()
  await calls.expect(await run('go', ['run', '.', calls.url], folder, { API_KEY: calls.apiKey }))
})
