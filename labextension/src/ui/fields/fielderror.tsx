/**
 * Errors in forms: texts, and moving the focus to the first error, also inside collapsed sections.
 */

import * as React from 'react';

import { MessageText } from '../messagetext.js';

/** An error without a field of its own. Renders nothing for an empty text. */
export function FieldError({ text, role }: { text: string; role?: 'alert' }): React.JSX.Element | null {
  return text ? (
    <p className="jp-pai-Trouble" role={role} tabIndex={-1} data-invalid="true">
      <MessageText text={text} />
    </p>
  ) : null;
}

/** Focus the first invalid field in a node. */
export function focusFirstError(node: Element | null): void {
  const field = node?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid="true"]');
  for (let section = field?.closest('details'); section; section = section.parentElement?.closest('details')) {
    section.open = true;
  }
  field?.focus();
}

/** Return whether a section stays open after it was toggled. It cannot be closed while it contains an error. */
export function staysOpen(section: HTMLDetailsElement, hasError: boolean): boolean {
  section.open ||= hasError;
  return section.open;
}
