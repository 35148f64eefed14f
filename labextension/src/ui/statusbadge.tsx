/**
 * The status of a job, of a workflow or of one of its steps, with a colored dot.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { JobStatus } from '../api/wire.js';
import type { RunStatus, StepStatus } from '../api/workflowrun.js';

export type Status = JobStatus | StepStatus | RunStatus;

export function StatusBadge({ status, trans }: { status: Status; trans: TranslationBundle }): React.JSX.Element {
  return (
    <span className="jp-pai-Status" data-status={status}>
      {statusName(status, trans)}
    </span>
  );
}

/** Return the translated name of a status. */
export function statusName(status: Status, trans: TranslationBundle): string {
  const names: Record<Status, string> = {
    waiting: trans.__('waiting'),
    queued: trans.__('queued'),
    starting: trans.__('starting'),
    running: trans.__('running'),
    stopping: trans.__('stopping'),
    succeeded: trans.__('succeeded'),
    failed: trans.__('failed'),
    stopped: trans.__('stopped'),
    lost: trans.__('lost'),
    skipped: trans.__('skipped')
  };
  return names[status];
}
