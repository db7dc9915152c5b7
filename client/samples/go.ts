import { filled, json, queryOf } from './curl.ts'
import type { ExampleCall } from './operation.ts'

/** The call with Go's standard library. The API key is in the environment variable RELAYER_API_KEY. */
export function goSample(
  baseUrl: string,
  { method, path, parameters, body, needs_token, answer }: ExampleCall,
): string {
  const url = JSON.stringify(baseUrl + filled(path, parameters.path) + queryOf(parameters.query))
  const content = body === undefined ? 'nil' : `strings.NewReader(\`${json(body)}\`)`
  const headers = Object.entries(parameters.header).map(([name, value]) => [name, JSON.stringify(value)])
  if (body !== undefined) headers.unshift(['Content-Type', '"application/json"'])
  if (needs_token) headers.unshift(['Authorization', '"Bearer "+os.Getenv("RELAYER_API_KEY")'])
  const packages = ['fmt', 'io', 'log', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])]
  const shown =
    answer === 'events' ? '_, err = io.Copy(os.Stdout, response.Body)' : 'answer, err := io.ReadAll(response.Body)'
  return `package main

import (
${packages.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
	request, err := http.NewRequest("${method.toUpperCase()}", ${url}, ${content})
	if err != nil {
		log.Fatal(err)
	}
${headers.map(([name, value]) => `\trequest.Header.Set("${name}", ${value})\n`).join('')}\
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	${shown}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status${answer === 'events' ? '' : ', string(answer)'})
	if response.StatusCode >= 300 {
		os.Exit(1)
	}
}
`
}
