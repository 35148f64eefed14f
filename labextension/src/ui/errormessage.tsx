/**
 * An error message with its fix.
 */

import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import { MessageText } from './messagetext.js';

/** Announced by screen readers. Renders nothing without an error. */
export function ErrorMessage({ error }: { error: IErrorMessage | null }): React.JSX.Element | null {
  return (
    error && (
      <p className="jp-pai-Trouble" role="alert">
        <MessageText text={[error.message, error.fix].filter(Boolean).join(' ')} />
      </p>
    )
  );
}
