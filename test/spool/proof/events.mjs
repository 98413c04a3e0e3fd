/** The same id always gives the same event, so that received events can be compared with tracked events. */
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
