import { onlineManager } from '@tanstack/react-query'

// What the browser says of its network tells nothing of the service, which may be on the same machine.
onlineManager.setEventListener(() => undefined)

/**
 * A fetch that notes whether the service responds. While it does not, the queries of all pages wait with the data that they have, and only
 * `ServiceState` asks; the first response lets them go on.
 */
export async function watchedFetch(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    onlineManager.setOnline(true)
    return response
  } catch (error) {
    if (isLost(error) && !request.signal.aborted) onlineManager.setOnline(false)
    throw error
  }
}

/** What `fetch` throws when there was no answer; it throws the same type for a header that cannot be sent. */
export const isLost = (error: unknown): boolean =>
  error instanceof TypeError && !/ByteString|header/i.test(error.message)
