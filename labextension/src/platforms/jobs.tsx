/**
 * The jobs of an account on its platform. Jobs submitted elsewhere can be imported.
 */

import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import { SearchField, StatusChoice } from '../jobs/filters.js';
import type { IContext } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { jobCount, moment } from '../ui/format.js';
import { useTask } from '../ui/hooks.js';
import type { IPolling } from '../ui/polling.js';
import { StatusBadge } from '../ui/statusbadge.js';
import type { IJobFilter, IRemoteJob, RemoteJobs } from './remotejobs.js';
import { filterJobs } from './remotejobs.js';
import { PolledSection } from './section.js';

interface IProps extends IContext {
  readonly model: RemoteJobs;
  readonly profileId: string;
  readonly polling: IPolling<readonly IRemoteJob[]>;
  readonly isVisible: boolean;
  /** The error of the whole platform. */
  readonly common: IErrorMessage | null;
}

const NO_FILTER: IJobFilter = { text: '', statuses: [] };

export function PlatformJobs(props: IProps): React.JSX.Element {
  const { model, trans } = props;
  const [filter, setFilter] = React.useState(NO_FILTER);
  const [status, setStatus] = React.useState('');
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const older = useTask();
  const loadOlder = () =>
    older.run(async () => {
      await model.loadOlder();
      setStatus(trans.__('Loaded: %1', jobCount(model.jobs.length, trans)));
    });
  const onAdopted = (text: string) => {
    setStatus(text);
    redraw();
  };
  return (
    <PolledSection {...props} title={trans.__('Jobs on the platform')}>
      {() => (
        <>
          {model.jobs.length > 0 && (
            <div className="jp-pai-Platforms-filter" role="search" aria-label={trans.__('Filter jobs')}>
              <SearchField
                label={trans.__('Search by name')}
                value={filter.text}
                onChange={text => setFilter({ ...filter, text })}
              />
              <StatusChoice
                statuses={filter.statuses}
                onChange={statuses => setFilter({ ...filter, statuses })}
                trans={trans}
              />
            </div>
          )}
          <JobList {...props} jobs={filterJobs(model.jobs, filter)} onAdopted={onAdopted} />
          {model.hasMore && (
            <button type="button" className="jp-pai-Button" disabled={older.isBusy} onClick={loadOlder}>
              {trans.__('Load older jobs')}
            </button>
          )}
          <ErrorMessage error={older.error} />
          <p className="jp-pai-Platforms-note" role="status">
            {older.isBusy ? trans.__('Loading…') : status}
          </p>
        </>
      )}
    </PolledSection>
  );
}

interface IRowProps extends IProps {
  /** Called when a job was imported, with a text that says so. */
  readonly onAdopted: (text: string) => void;
}

function JobList(props: IRowProps & { readonly jobs: readonly IRemoteJob[] }): React.JSX.Element {
  const { model, jobs, trans } = props;
  if (!jobs.length) {
    const text = model.jobs.length
      ? trans.__('None of the %1 loaded jobs matches.', model.jobs.length)
      : trans.__('The account has no jobs on this platform.');
    return <p className="jp-pai-Platforms-note">{text}</p>;
  }
  return (
    <ul className="jp-pai-Platforms-jobs">
      {jobs.map(job => (
        <Row key={job.remoteId} {...props} job={job} />
      ))}
    </ul>
  );
}

function Row(props: IRowProps & { readonly job: IRemoteJob }): React.JSX.Element {
  const { model, job, host, trans, onAdopted } = props;
  const { remoteId, name, status, platformStatus, submittedAt, user, link, jobId } = job;
  const task = useTask();
  const { isBusy, error } = task;
  const adopt = () =>
    task.run(async () => {
      const adopted = await model.adopt(job);
      onAdopted(trans.__('%1 is in the list of training jobs now, as %2.', name, adopted?.id ?? ''));
    });
  const platformName = platformStatus.toLowerCase() === status ? '' : platformStatus;
  const facts = [platformName, moment(Date.parse(submittedAt)), user, remoteId].filter(Boolean);
  return (
    <li data-remote={remoteId}>
      <div className="jp-pai-Platforms-job">
        <span className="jp-pai-Platforms-name">{name}</span>
        {/* One button in both states, so that it keeps the focus. */}
        {(!jobId || host.openJob) && (
          <button
            type="button"
            className="jp-pai-Button"
            aria-disabled={isBusy}
            aria-label={jobId ? trans.__('Open %1', name) : trans.__('Adopt %1', name)}
            title={jobId ? jobId : trans.__('Import this job into the list of training jobs')}
            onClick={() => (jobId ? host.openJob?.(jobId) : adopt())}
          >
            {jobId ? trans.__('Open') : isBusy ? trans.__('Adopting…') : trans.__('Adopt')}
          </button>
        )}
      </div>
      <p className="jp-pai-Platforms-note">
        <StatusBadge status={status} trans={trans} /> {facts.join(' · ')}{' '}
        {link && (
          <a
            href={link}
            target="_blank"
            rel="noopener noreferrer"
            aria-label={trans.__('%1 in the console of the platform', name)}
          >
            {trans.__('Console')}
          </a>
        )}
      </p>
      <ErrorMessage error={error} />
    </li>
  );
}
