/** A fetch for a test that is the only writer: a change without a revision is made whatever there is. */
export const asOnlyWriter = (request: Request): Promise<Response> => {
  if ((request.method === 'PATCH' || request.method === 'PUT') && !request.headers.has('If-Match'))
    request.headers.set('If-Match', '*')
  return fetch(request)
}
