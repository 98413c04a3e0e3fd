// VitePress writes these functions into the page as text, so each has to stand alone.

/**
 * Guides rank first, because the other pages contain the name that was searched for, but do not explain how to use it. The index of
 * questions ranks behind the pages to which it leads.
 */
function boostDocument(id) {
  const page = id.replace(/(?:\.html)?(?:#.*)?$/, '')
  if (page.startsWith('/api/')) return 0.15
  if (page === '/' || page === '' || page === '/changelog' || page === '/questions') return 0.3
  if (/^\/(?:spec|contributing\/)/.test(page)) return 0.1
  return /^\/(?:cluster|collector|command-line|migration\/)/.test(page) ? 0.85 : 1
}

/**
 * An identifier such as `queue_full` is one word. The index also has the parts of words such as `Retry-After`. `field` is
 * `undefined` for a query.
 */
function tokenize(text, field) {
  const words = text.match(/[\p{L}\p{N}_$]+(?:[-.][\p{L}\p{N}_$]+)*/gu) ?? []
  if (field === undefined) return words
  return words.flatMap((word) => (/[-.]/.test(word) ? [word, ...word.split(/[-.]/)] : [word]))
}

/** Words that say nothing about the subject are neither found nor highlighted. */
function processTerm(term) {
  const word = term.toLowerCase()
  const ignored =
    'a an and any are as at be been but by can could did do does for from get had has have how i if in into is it its me my no not of on one or our out should so such than that the their them then there these they this to up us use using want was we were what when where which who why will with would you your'
  return ignored.split(' ').includes(word) ? null : word
}

export const search = {
  provider: 'local',
  options: {
    detailedView: true,
    miniSearch: {
      options: { tokenize, processTerm },
      searchOptions: {
        boost: { title: 4, text: 2, titles: 1 },
        boostDocument,
        prefix: (term) => term.length > 2,
        // Typing errors are allowed in long names only: a short word or a code would match another one.
        fuzzy: (term) => (term.length > 4 && !/[_\d]/.test(term) ? 0.2 : false),
      },
    },
  },
}
