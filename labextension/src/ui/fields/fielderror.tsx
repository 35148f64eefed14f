/**
 * What is wrong, where a form can lead to it: the first of it, also in a part that is folded.
 */

import * as React from 'react';

/** Words about something that has no field of its own to go to. Nothing, if there are none. */
export function FaultText({ text, role }: { text: string; role?: 'alert' }): React.JSX.Element | null {
  return text ? (
    <p className="jp-pai-Trouble" role={role} tabIndex={-1} data-invalid="true">
      {text}
    </p>
  ) : null;
}

/** Go to the first of what is wrong in a node. */
export function showWrong(node: Element | null): void {
  const found = node?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid="true"]');
  for (let fold = found?.closest('details'); fold; fold = fold.parentElement?.closest('details')) {
    fold.open = true;
  }
  found?.focus();
}

/** Whether a fold that was opened or closed is open: while something in it is wrong it does not close. */
export function staysOpen(fold: HTMLDetailsElement, isWrong: boolean): boolean {
  fold.open ||= isWrong;
  return fold.open;
}
