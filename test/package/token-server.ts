import { type Loopback, listen } from '../support/loopback.ts'

export const TOKEN = 'an-access-token'

/** A server on 127.0.0.1 that gives this token to everybody. */
export function startTokenServer(): Promise<Loopback> {
  return listen((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 3_600 }))
    })
  })
}
