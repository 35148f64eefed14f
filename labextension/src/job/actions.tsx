/**
 * Actions on a job.
 */

import * as React from 'react';

import { withConfirmation } from '../api/confirm.js';
import { SubmitKey } from '../api/idempotency.js';
import { ownChannels } from '../api/jobhistory.js';
import type { IJob, Json } from '../api/wire.js';
import { hasEnded, parseJob, record } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useTask } from '../ui/hooks.js';
import { JobLink } from '../ui/joblink.js';
import { RerunForm } from './rerunform.js';
import { JobTerminal } from './terminal.js';

type IProps = Omit<ITabProps, 'isVisible'>;

interface IJobActions {
  readonly stop: () => Promise<void>;
  readonly remove: () => Promise<void>;
  readonly togglePin: () => Promise<void>;
  /** Submit the job again with changes; return the id of the new job, null if the user declined. */
  readonly rerun: (changes: Json) => Promise<string | null>;
}

/** Return the actions on a job. */
export function useJobActions({ engine, host, model, trans }: IProps, job: IJob): IJobActions {
  const [key] = React.useState(() => new SubmitKey());
  const parameters = { job: job.id };
  const rerun = async (changes: Json) => {
    const question = { title: trans.__('Run %1 again?', job.name), yes: trans.__('Run'), warn: true };
    const response = await key.use([job.id, changes], once => {
      const call = (confirmed: boolean) => engine.call('rerun', parameters, { key: once, changes, confirmed });
      return withConfirmation(call, text => host.confirm({ ...question, text }));
    });
    return response === null ? null : (parseJob(record(response)['job'])?.id ?? '');
  };
  const stop = async () => {
    const question = {
      title: trans.__('Stop %1?', job.name),
      text: job.outputs.size
        ? trans.__(
            'The job stops immediately. Its log, metrics and written outputs are kept; unsaved results are lost.'
          )
        : trans.__('The job stops immediately. Its log and metrics are kept; unsaved results are lost.'),
      yes: trans.__('Stop'),
      warn: true
    };
    if (await host.confirm(question)) {
      model.update(await engine.call('stop', parameters));
    }
  };
  const remove = async () => {
    const files = ownChannels(job).join(', ');
    const text = files
      ? trans.__('Its log, metrics, code and these outputs are permanently deleted: %1.', files)
      : job.outputs.size
        ? trans.__('Its log, metrics and code are permanently deleted. Its outputs are kept.')
        : trans.__('Its log, metrics and code are permanently deleted.');
    const stays = job.staysOnPlatform ? ` ${trans.__('Its platform cannot delete jobs, and keeps it.')}` : '';
    const question = {
      title: trans.__('Delete %1?', job.name),
      text: text + stays,
      yes: trans.__('Delete'),
      warn: true
    };
    if (await host.confirm(question)) {
      await engine.call('delete', parameters);
      model.markDeleted(trans.__('The job was deleted.'));
    }
  };
  const togglePin = async () =>
    model.update(await engine.call(job.pinned ? 'unpin' : 'pin', parameters, job.pinned ? undefined : {}));
  return { stop, remove, togglePin, rerun };
}

export function Actions(props: IProps): React.JSX.Element | null {
  const { job } = props.model;
  return job && <JobActions {...props} job={job} />;
}

function JobActions(props: IProps & { job: IJob }): React.JSX.Element {
  const { host, trans, job } = props;
  const task = useTask();
  const [isEdited, setEdited] = React.useState(false);
  const [hasTerminal, setTerminal] = React.useState(false);
  const editButton = React.useRef<HTMLButtonElement>(null);
  const [newJob, setNewJob] = React.useState('');
  const { stop, remove, togglePin, rerun } = useJobActions(props, job);

  /** Close the form. If it had the focus, or lost it while it was busy, focus the button that opened it. */
  const close = () => {
    const { activeElement, body } = document;
    const opener = editButton.current;
    setEdited(false);
    if (isEdited && (activeElement === body || opener?.closest('header')?.contains(activeElement))) {
      opener?.focus();
    }
  };
  const rerunAndShow = async (changes: Json) => {
    const jobId = await rerun(changes);
    if (jobId !== null) {
      setNewJob(jobId);
      close();
      host.openJob?.(jobId);
    }
  };
  const button = (text: string, work: () => Promise<void>, title = text) => (
    <button type="button" className="jp-pai-Button" title={title} disabled={task.isBusy} onClick={() => task.run(work)}>
      {text}
    </button>
  );
  return (
    <>
      <div className="jp-pai-Actions" role="group" data-lm-suppress-shortcuts="true" aria-label={trans.__('Actions')}>
        {!hasEnded(job) && button(trans.__('Stop'), stop)}
        {button(trans.__('Rerun'), () => rerunAndShow({}), trans.__('Submit the same spec and code again'))}
        <button
          ref={editButton}
          type="button"
          className="jp-pai-Button"
          aria-expanded={isEdited}
          disabled={task.isBusy}
          onClick={() => setEdited(!isEdited)}
        >
          {trans.__('Edit and rerun')}
        </button>
        {job.pinned
          ? button(trans.__('Unpin'), togglePin, trans.__('Allow this job to be deleted'))
          : button(trans.__('Pin'), togglePin, trans.__('Protect this job from deletion and pruning'))}
        {job.terminal && (
          <button
            type="button"
            className="jp-pai-Button"
            title={trans.__('Open a terminal in the job')}
            aria-expanded={hasTerminal}
            onClick={() => setTerminal(!hasTerminal)}
          >
            {trans.__('Terminal')}
          </button>
        )}
        {hasEnded(job) && button(trans.__('Delete'), remove)}
      </div>
      <ErrorMessage error={task.error} />
      {newJob && (
        <p className="jp-pai-Started" role="status">
          {trans.__('Started as')} <JobLink host={host} jobId={newJob} />
        </p>
      )}
      {job.terminal && hasTerminal && <JobTerminal {...props} />}
      {isEdited && <RerunForm {...props} rerun={rerunAndShow} onCancel={close} />}
    </>
  );
}
