/** A selector in an expression: a metric, and the conditions for its labels. */
export interface Selector {
  metric: string
  matchers: Array<{ label: string; operator: string; value: string }>
}

const SELECTOR = /\b((?:trackpost_collector|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g
const MATCHER = /(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"/g
const GROUPING = /\b(?:by|without) \(([^)]*)\)/g

/** The selectors of an expression. Reads no more of PromQL than the files here use; promtool reads all of it. */
export function selectorsOf(expression: string): Selector[] {
  // A label that is grouped by may have the name of a metric.
  return [...expression.replace(GROUPING, '').matchAll(SELECTOR)].map(([, metric = '', inside = '']) => ({
    metric,
    matchers: [...inside.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }))
}

/** The labels by which an expression groups, and those that a text such as a legend names. */
export function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels.split(',').map((one) => one.trim()),
  )
}

/** Labels that a template names: `{{ $labels.part }}` of an alert, `{{part}}` of a legend. */
export function labelsInText(text: string): string[] {
  return [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z]\w*)\s*\}\}/g)].map(([, label = '']) => label)
}
