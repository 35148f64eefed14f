/**
 * The status of a job, with a colored dot.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { JobStatus } from '../api/wire.js';

export function StatusBadge({ status, trans }: { status: JobStatus; trans: TranslationBundle }): React.JSX.Element {
  return (
    <span className="jp-pai-Status" data-status={status}>
      {statusName(status, trans)}
    </span>
  );
}

/** Return the translated name of a status. */
export function statusName(status: JobStatus, trans: TranslationBundle): string {
  const names: Record<JobStatus, string> = {
    queued: trans.__('queued'),
    starting: trans.__('starting'),
    running: trans.__('running'),
    succeeded: trans.__('succeeded'),
    failed: trans.__('failed'),
    stopped: trans.__('stopped'),
    lost: trans.__('lost')
  };
  return names[status];
}
