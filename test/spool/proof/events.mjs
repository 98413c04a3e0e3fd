/**
 * Makes the event of an id, so that received events can be compared with tracked ones, whichever process sent
 * them.
 */
export function eventOf(id) {
  const [, number] = id.split('-')
  return {
    userId: 'usr_Zoë',
    event: 'Commande passée',
    messageId: id,
    timestamp: new Date(1_790_000_000_000 + Number(number)),
    properties: {
      number: Number(number),
      article: 'Thé à la menthe',
      note: 'x'.repeat(Number(number) % 200),
    },
  }
}
