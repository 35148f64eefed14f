/**
 * Errors in forms: texts, and moving the focus to the first error, also inside collapsed sections.
 */

import * as React from 'react';

/** An error without a field of its own. Renders nothing for an empty text. */
export function FaultText({ text, role }: { text: string; role?: 'alert' }): React.JSX.Element | null {
  return text ? (
    <p className="jp-pai-Trouble" role={role} tabIndex={-1} data-invalid="true">
      {text}
    </p>
  ) : null;
}

/** Focus the first invalid field in a node. */
export function showWrong(node: Element | null): void {
  const found = node?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid="true"]');
  for (let fold = found?.closest('details'); fold; fold = fold.parentElement?.closest('details')) {
    fold.open = true;
  }
  found?.focus();
}

/** Return whether a section stays open after it was toggled. It cannot be closed while it contains an error. */
export function staysOpen(fold: HTMLDetailsElement, isWrong: boolean): boolean {
  fold.open ||= isWrong;
  return fold.open;
}
