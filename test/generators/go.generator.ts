import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { contract, expectSignature, operationIds, run, schemaNames } from './generated-client.ts'

const program = `package main

import (
	"context"
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
	client, err := relayer.NewClientWithResponses(os.Args[1], relayer.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	var body relayer.SignMessageRequest
	if err := body.FromSignTextRequest(relayer.SignTextRequest{Message: "Hello"}); err != nil {
		panic(err)
	}
	answer, err := client.SignMessageWithResponse(context.Background(), "demo", body)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.JSON200.Data.Sig)
}
`

test('oapi-codegen: generates every operation and schema, and its client signs', async () => {
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

  writeFileSync(join(folder, 'main.go'), program)
  await run('go', ['mod', 'init', 'example.com/program'], folder)
  await run('go', ['mod', 'tidy'], folder)
  await run('go', ['vet', './...'], folder)
  const { url, api_key, client } = await startTestService()
  await expectSignature(client, await run('go', ['run', '.', url], folder, { API_KEY: api_key }))
})
