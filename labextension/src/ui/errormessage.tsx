/**
 * An error message with its fix.
 */

import * as React from 'react';

import type { ITrouble } from '../api/jobmodel.js';

/** Announced by screen readers. Renders nothing without an error. */
export function Trouble({ trouble }: { trouble: ITrouble | null }): React.JSX.Element | null {
  return (
    trouble && (
      <p className="jp-pai-Trouble" role="alert">
        {[trouble.message, trouble.fix].filter(Boolean).join(' ')}
      </p>
    )
  );
}
