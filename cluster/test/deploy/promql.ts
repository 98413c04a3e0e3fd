export interface Selector {
  metric: string
  matchers: Array<{ label: string; operator: string; value: string }>
}

const SELECTOR = /\b((?:trackpost_collector|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g
const MATCHER = /(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"/g
const GROUPING = /\b(?:by|without) \(([^)]*)\)/g

/** Parses only the part of PromQL that these files use; promtool parses all of it. */
export function selectorsOf(expression: string): Selector[] {
  // A label after `by` may have the name of a metric.
  return [...expression.replace(GROUPING, '').matchAll(SELECTOR)].map(([, metric = '', inside = '']) => ({
    metric,
    matchers: [...inside.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }))
}

export function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels.split(',').map((one) => one.trim()),
  )
}

/** Labels that a template names: `{{ $labels.part }}` of an alert, `{{part}}` of a legend. */
export function labelsInText(text: string): string[] {
  return [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z]\w*)\s*\}\}/g)].map(([, label = '']) => label)
}
