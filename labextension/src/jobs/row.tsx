/**
 * A row of the job list: a job with status, name, progress, duration and latest metric; or a run of a workflow.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';
import type { IListedRun } from '../api/workflowrun.js';
import { hasRunEnded } from '../api/workflowrun.js';
import { markedName } from '../metrics/detected.js';
import { duration, shortNumber } from '../ui/format.js';
import { StatusBadge, statusName } from '../ui/statusbadge.js';

/** Height of all rows, in pixels. */
export const ROW = 46;

interface IProps {
  readonly id: string;
  readonly job: IJob | null;
  /** The run that the row stands for, in place of its job. */
  readonly run: IListedRun | null;
  readonly row: number;
  readonly total: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly trans: TranslationBundle;
  readonly open: (row: number) => void;
  readonly toggle: (row: number, isRange: boolean) => void;
}

export function JobRow(props: IProps): React.JSX.Element {
  const { id, job, run, row, total, isSelected, isCurrent, trans } = props;
  return (
    <div
      id={id}
      className="jp-pai-JobRow"
      role="option"
      style={{ height: ROW, transform: `translateY(${row * ROW}px)` }}
      aria-selected={isSelected}
      aria-busy={job === null}
      aria-posinset={row + 1}
      aria-setsize={total}
      data-current={isCurrent}
      data-job={run ? undefined : job?.id}
      data-run={run?.id}
      onClick={event => {
        if (event.shiftKey || event.ctrlKey || event.metaKey) {
          props.toggle(row, event.shiftKey);
        } else {
          props.open(row);
        }
      }}
    >
      {run ? (
        <RunRow {...props} run={run} />
      ) : job ? (
        <LoadedRow {...props} job={job} />
      ) : (
        <span className="jp-pai-JobRow-facts">{trans.__('Loading…')}</span>
      )}
    </div>
  );
}

function LoadedRow({ job, now, row, isSelected, trans, toggle }: IProps & { job: IJob }): React.JSX.Element {
  const facts = [statusName(job.status, trans), ...factsOf(job, now, trans)];
  const hasProgress = job.progress !== null && !hasEnded(job);
  return (
    <>
      <span
        className="jp-pai-JobRow-check"
        onClick={event => {
          event.stopPropagation();
          toggle(row, event.shiftKey);
        }}
      >
        <span className="jp-pai-JobRow-box" aria-hidden data-checked={isSelected} />
      </span>
      <span className="jp-pai-JobRow-dot" aria-hidden>
        <StatusBadge status={job.status} trans={trans} />
      </span>
      <span className="jp-pai-JobRow-name" title={job.name}>
        {job.name}
      </span>
      <span className="jp-pai-JobRow-facts" title={job.reason || facts.join(' · ')}>
        {facts.join(' · ')}
      </span>
      {hasProgress && <progress className="jp-pai-JobRow-progress" aria-hidden value={job.progress} />}
    </>
  );
}

/** All steps of a run. It cannot be selected, since actions on several rows are those of jobs. */
function RunRow({ run, now, trans }: IProps & { run: IListedRun }): React.JSX.Element {
  const facts = [
    statusName(run.status, trans),
    trans.__('%1 of %2 steps', run.endedCount, run.stepCount),
    duration((run.endedAt ?? now) - run.submittedAt, trans)
  ].join(' · ');
  return (
    <>
      <span className="jp-pai-JobRow-check" aria-hidden>
        <span className="jp-pai-JobRow-steps">⋔</span>
      </span>
      <span className="jp-pai-JobRow-dot" aria-hidden>
        <StatusBadge status={run.status} trans={trans} />
      </span>
      <span className="jp-pai-JobRow-name" title={run.name}>
        {trans.__('Workflow %1', run.name)}
      </span>
      <span className="jp-pai-JobRow-facts" title={facts}>
        {facts}
      </span>
      {!hasRunEnded(run) && (
        <progress className="jp-pai-JobRow-progress" aria-hidden value={run.endedCount} max={run.stepCount} />
      )}
    </>
  );
}

function factsOf(job: IJob, now: number, trans: TranslationBundle): string[] {
  const facts: string[] = [];
  if (job.progress !== null && !hasEnded(job)) {
    facts.push(`${Math.round(job.progress * 100)} %`);
  }
  if (job.startedAt !== null) {
    facts.push(duration((job.endedAt ?? now) - job.startedAt, trans));
  }
  if (job.reason) {
    return [...facts, job.reason];
  }
  const [newest] = [...job.metrics].sort(([, a], [, b]) => b.time - a.time);
  if (newest) {
    facts.push(`${markedName(...newest, trans)} ${shortNumber(newest[1].value)}`);
  }
  return facts;
}
