/**
 * Actions on several selected jobs.
 */

import * as React from 'react';

import { errorText } from '../api/engine.js';
import type { Verb } from '../api/routes.js';
import type { IJob } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { Selection } from './selection.js';

interface IProps extends IContext {
  readonly selection: Selection;
  readonly clear: () => void;
}

// Number of concurrent calls.
const CONCURRENCY = 4;
// Maximum number of job names in a question.
const MAX_NAMES = 5;

export function JobSelection(props: IProps): React.JSX.Element | null {
  const { selection, host, trans, clear } = props;
  const [isBusy, setBusy] = React.useState(false);
  if (selection.size === 0) {
    return null;
  }
  const during = (work: Promise<void>) => {
    setBusy(true);
    void work.finally(() => setBusy(false));
  };
  const { running, deletable } = selection;
  return (
    <div className="jp-pai-JobSelection" role="toolbar" aria-label={trans.__('Selected jobs')}>
      <button
        type="button"
        className="jp-pai-JobSelection-clear"
        title={trans.__('Clear selection')}
        aria-label={trans.__('Clear selection')}
        onClick={clear}
      >
        ×
      </button>
      <span role="status" title={trans.__('%1 selected', selection.size)}>
        {trans.__('%1 selected', selection.size)}
      </span>
      {host.compareJobs && selection.size > 1 && (
        <button type="button" onClick={() => host.compareJobs?.(selection.ids)}>
          {trans.__('Compare')}
        </button>
      )}
      {running.length > 0 && (
        <button type="button" disabled={isBusy} onClick={() => during(stop(props))}>
          {trans.__('Stop')}
        </button>
      )}
      <button
        type="button"
        disabled={isBusy || deletable.length === 0}
        title={deletable.length ? '' : trans.__('Running and pinned jobs cannot be deleted.')}
        onClick={() => during(remove(props))}
      >
        {trans.__('Delete')}
      </button>
    </div>
  );
}

async function stop(props: IProps): Promise<void> {
  const { selection, host, trans } = props;
  const jobs = selection.running;
  const question = {
    title: jobs.length === 1 ? trans.__('Stop %1?', jobs[0]?.name) : trans.__('Stop %1 jobs?', jobs.length),
    text: jobs.length > 1 ? nameList(jobs) : '',
    yes: trans.__('Stop'),
    warn: true
  };
  if (await host.confirm(question)) {
    await callForEach(props, 'stop', jobs);
  }
}

/** Delete the deletable jobs after a confirmation. */
export async function remove(props: Omit<IProps, 'clear'>): Promise<void> {
  const { selection, host, trans } = props;
  const jobs = selection.deletable;
  const keptCount = selection.size - jobs.length;
  if (jobs.length === 0) {
    return;
  }
  const keptText = keptCount
    ? trans.__('%1 of the selected jobs are running or pinned and will be kept.', keptCount)
    : '';
  const staying = jobs.filter(job => job.staysOnPlatform).length;
  const stayText = staying ? trans.__('%1 of them stay on their platforms, which cannot delete jobs.', staying) : '';
  const question = {
    title:
      jobs.length === 1
        ? trans.__('Delete %1 with all its files?', jobs[0]?.name)
        : trans.__('Delete %1 jobs with all their files?', jobs.length),
    text: [jobs.length > 1 ? nameList(jobs) : '', keptText, stayText].filter(Boolean).join('\n'),
    yes: trans.__('Delete'),
    warn: true
  };
  if (await host.confirm(question)) {
    await callForEach(props, 'delete', jobs);
  }
}

function nameList(jobs: readonly IJob[]): string {
  const names = jobs.slice(0, MAX_NAMES).map(job => job.name);
  return [...names, ...(jobs.length > MAX_NAMES ? ['…'] : [])].join(', ');
}

/** Call a verb for each job, then report how many calls failed, and the first error. */
async function callForEach({ engine, host, trans }: IContext, verb: Verb, jobs: readonly IJob[]): Promise<void> {
  const queue = [...jobs];
  const errors: string[] = [];
  const work = async () => {
    for (let job = queue.shift(); job; job = queue.shift()) {
      try {
        await engine.call(verb, { job: job.id });
      } catch (error) {
        errors.push(errorText(error));
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  if (errors[0] !== undefined) {
    host.notify(trans.__('Failed for %1 of %2 jobs: %3', errors.length, jobs.length, errors[0]), 'error');
  }
}
