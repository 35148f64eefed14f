/**
 * What went wrong, and what to do about it.
 */

import * as React from 'react';

import type { ITrouble } from '../api/jobmodel.js';

/** Read out as soon as it is there. Nothing, if there is no trouble. */
export function Trouble({ trouble }: { trouble: ITrouble | null }): React.JSX.Element | null {
  return (
    trouble && (
      <p className="jp-pai-Trouble" role="alert">
        {[trouble.message, trouble.fix].filter(Boolean).join(' ')}
      </p>
    )
  );
}
