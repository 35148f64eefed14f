/**
 * The timeline of a job's statuses and its progress.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { remainingTime, statusPeriods } from '../api/jobhistory.js';
import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { useClock } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { approximateDuration, duration, moment } from '../ui/format.js';
import { useEvents } from '../ui/hooks.js';
import { StatusBadge } from '../ui/statusbadge.js';

export function Timeline(props: ITabProps & { job: IJob }): React.JSX.Element {
  const { job, trans, isVisible } = props;
  const [events, error] = useEvents(props);
  const now = useClock(isVisible && !hasEnded(job));
  return (
    <>
      <ol className="jp-pai-Timeline" aria-label={trans.__('Timeline')}>
        {statusPeriods(events, job).map(({ status, from, until }, n) => (
          <li key={n}>
            <StatusBadge status={status} trans={trans} />
            <time dateTime={new Date(from).toISOString()}>{moment(from)}</time>
            {until === null && hasEnded(job) ? null : <span>{duration((until ?? now) - from, trans)}</span>}
          </li>
        ))}
      </ol>
      <ErrorMessage error={error} />
    </>
  );
}

/** Shown while an active job reports progress. */
export function Progress(props: { job: IJob; trans: TranslationBundle; isVisible: boolean }): React.JSX.Element | null {
  const { job, trans, isVisible } = props;
  const isShown = job.progress !== null && !hasEnded(job);
  const now = useClock(isShown && isVisible);
  const reportedAt = React.useMemo(() => Date.now(), [job.progress]);
  if (!isShown) {
    return null;
  }
  const percent = Math.round(Math.min(Math.max(job.progress, 0), 1) * 100);
  const remaining = remainingTime(job, reportedAt, now);
  return (
    <div className="jp-pai-Progress">
      <div
        role="progressbar"
        aria-label={trans.__('Progress')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <div style={{ width: `${percent}%` }} />
      </div>
      <span>
        {percent} %
        {remaining !== null &&
          remaining > 0 &&
          ` · ${trans.__('about %1 left', approximateDuration(remaining, trans))}`}
      </span>
    </div>
  );
}
