/**
 * A list of any length of which only the rows in sight are in the document.
 *
 * Rows have one height, read from the style sheet. The first item is the newest; items added in front do not
 * move what a reader who has scrolled down is looking at.
 */
export class VirtualList {
  #scroller
  #spacer
  #render
  #onOpen
  #onNearEnd
  #items = []
  #rows = []
  #selectedSeq
  #isDrawing = false

  /**
   * @param scroller The element that scrolls; it gets the keyboard.
   * @param render Fills a row element with an item.
   * @param onOpen Told of the item that was clicked, or chosen with Enter.
   * @param onNearEnd Told when the last items come in sight.
   */
  constructor(scroller, { render, onOpen, onNearEnd }) {
    this.#scroller = scroller
    this.#render = render
    this.#onOpen = onOpen
    this.#onNearEnd = onNearEnd
    this.#spacer = document.createElement('div')
    this.#spacer.setAttribute('role', 'presentation')
    scroller.append(this.#spacer)
    scroller.addEventListener('scroll', () => this.#draw(), { passive: true })
    scroller.addEventListener('keydown', (event) => this.#key(event))
    scroller.addEventListener('click', (event) => {
      const row = event.target.closest('.row')
      if (row) this.#open(this.#items[Number(row.dataset.index)])
    })
    new ResizeObserver(() => this.#draw()).observe(scroller)
  }

  get items() {
    return this.#items
  }

  /** Whether the newest item is in sight. */
  get isAtTop() {
    return this.#scroller.scrollTop < this.#rowHeight
  }

  /** The items in sight. */
  get visible() {
    const first = Math.floor(this.#scroller.scrollTop / this.#rowHeight)
    return this.#items.slice(first, first + Math.ceil(this.#scroller.clientHeight / this.#rowHeight) + 1)
  }

  get #rowHeight() {
    return Number.parseInt(getComputedStyle(this.#scroller).getPropertyValue('--row-height'), 10)
  }

  replace(items) {
    this.#items = items
    this.#scroller.scrollTop = 0
    this.#draw()
  }

  /** Adds newer items; forgets the oldest over the limit while the reader is at the top. */
  prepend(items, limit) {
    const wasAtTop = this.isAtTop
    this.#items = [...items, ...this.#items]
    if (wasAtTop) this.#items.length = Math.min(this.#items.length, limit)
    this.#spacer.style.height = `${this.#items.length * this.#rowHeight}px`
    if (!wasAtTop) this.#scroller.scrollTop += items.length * this.#rowHeight
    this.#draw()
  }

  append(items) {
    this.#items = [...this.#items, ...items]
    this.#draw()
  }

  /** Puts newer versions of items in their place. */
  update(items) {
    const bySeq = new Map(items.map((item) => [item.seq, item]))
    this.#items = this.#items.map((item) => bySeq.get(item.seq) ?? item)
    this.#draw()
  }

  select(seq) {
    this.#selectedSeq = seq
    this.#draw()
  }

  #open(item) {
    if (item === undefined) return
    this.select(item.seq)
    this.#onOpen(item)
  }

  #key(event) {
    if (event.target !== this.#scroller || this.#items.length === 0) return
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / this.#rowHeight) - 1)
    const current = this.#items.findIndex(({ seq }) => seq === this.#selectedSeq)
    const last = this.#items.length - 1
    const targets = {
      ArrowDown: current + 1,
      ArrowUp: Math.max(0, current - 1),
      PageDown: current + page,
      PageUp: Math.max(0, current - page),
      Home: 0,
      End: last,
    }
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      this.#open(this.#items[Math.max(0, current)])
      return
    }
    const target = targets[event.key]
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const index = Math.min(last, target)
    this.#selectedSeq = this.#items[index].seq
    this.#reveal(index)
    this.#draw()
  }

  #reveal(index) {
    const top = index * this.#rowHeight
    const bottom = top + this.#rowHeight - this.#scroller.clientHeight
    if (this.#scroller.scrollTop > top) this.#scroller.scrollTop = top
    else if (this.#scroller.scrollTop < bottom) this.#scroller.scrollTop = bottom
  }

  /** Draws at the next frame, once however often it is asked for. */
  #draw() {
    if (this.#isDrawing) return
    this.#isDrawing = true
    requestAnimationFrame(() => {
      this.#isDrawing = false
      this.#drawNow()
    })
  }

  #drawNow() {
    const height = this.#rowHeight
    this.#spacer.style.height = `${this.#items.length * height}px`
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / height) - 5)
    const count = Math.min(this.#items.length - first, Math.ceil(this.#scroller.clientHeight / height) + 10)
    while (this.#rows.length < count) {
      const row = document.createElement('div')
      row.className = 'row'
      row.setAttribute('role', 'option')
      this.#scroller.append(row)
      this.#rows.push(row)
    }
    while (this.#rows.length > Math.max(0, count)) this.#rows.pop().remove()
    let active = ''
    for (const [offset, row] of this.#rows.entries()) {
      const index = first + offset
      const item = this.#items[index]
      const isSelected = item.seq === this.#selectedSeq
      row.style.transform = `translateY(${index * height}px)`
      row.dataset.index = index
      row.id = `event-${item.seq}`
      row.setAttribute('aria-selected', isSelected)
      row.setAttribute('aria-posinset', index + 1)
      row.setAttribute('aria-setsize', this.#items.length)
      if (row.item !== item) {
        row.item = item
        this.#render(row, item)
      }
      if (isSelected) active = row.id
    }
    if (active === '') this.#scroller.removeAttribute('aria-activedescendant')
    else this.#scroller.setAttribute('aria-activedescendant', active)
    if (first + count >= this.#items.length - 20) this.#onNearEnd()
  }
}
