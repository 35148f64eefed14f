/**
 * Actions on a job.
 */

import * as React from 'react';

import { agreed } from '../api/confirm.js';
import { SubmitKey } from '../api/idempotency.js';
import { keptWith } from '../api/jobhistory.js';
import type { Json } from '../api/wire.js';
import { hasEnded, parseJob, record } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { useTask } from '../ui/hooks.js';
import { JobLink } from '../ui/joblink.js';
import { EditForm } from './rerunform.js';

export function Actions(props: Omit<ITabProps, 'isVisible'>): React.JSX.Element | null {
  const { engine, host, model, trans } = props;
  const task = useTask();
  const [isEdited, setEdited] = React.useState(false);
  const editButton = React.useRef<HTMLButtonElement>(null);
  const [started, setStarted] = React.useState('');
  const [key] = React.useState(() => new SubmitKey());
  const { job } = model;
  if (!job) {
    return null;
  }
  const parameters = { job: job.id };

  /**
   * Close the form. If it had the focus, or nothing has it since the form was busy, focus the button that opened it.
   */
  const close = () => {
    const { activeElement, body } = document;
    const opener = editButton.current;
    setEdited(false);
    if (isEdited && (activeElement === body || opener?.closest('header')?.contains(activeElement))) {
      opener?.focus();
    }
  };
  const rerun = async (changes: Json) => {
    const question = { title: trans.__('Run %1 again?', job.name), yes: trans.__('Run'), warn: true };
    const answer = await key.use([job.id, changes], once => {
      const call = (confirmed: boolean) => engine.call('rerun', parameters, { key: once, changes, confirmed });
      return agreed(call, text => host.confirm({ ...question, text }));
    });
    if (answer === null) {
      return;
    }
    const jobId = parseJob(record(answer)['job'])?.id ?? '';
    setStarted(jobId);
    close();
    host.openJob?.(jobId);
  };
  const stop = async () => {
    const question = {
      title: trans.__('Stop %1?', job.name),
      text: trans.__(
        'The job is stopped now. Its log, metrics and written outputs are kept; unsaved results are lost.'
      ),
      yes: trans.__('Stop'),
      warn: true
    };
    if (await host.confirm(question)) {
      model.take(await engine.call('stop', parameters));
    }
  };
  const remove = async () => {
    const files = keptWith(job).join(', ');
    const text = files
      ? trans.__('Its log, metrics, code and these outputs are permanently deleted: %1.', files)
      : trans.__('Its log, metrics and code are permanently deleted. Its outputs are kept.');
    const question = { title: trans.__('Delete %1?', job.name), text, yes: trans.__('Delete'), warn: true };
    if (await host.confirm(question)) {
      await engine.call('delete', parameters);
      model.forget(trans.__('The job was deleted.'));
    }
  };
  // The URL of a terminal is a short-lived credential, so the command that needs it requests it.
  const terminal = async () => host.openTerminal?.(job.terminal);
  const pin = async () =>
    model.take(await engine.call(job.pinned ? 'unpin' : 'pin', parameters, job.pinned ? undefined : {}));
  const button = (text: string, work: () => Promise<void>, title = text) => (
    <button type="button" className="jp-pai-Button" title={title} disabled={task.isBusy} onClick={() => task.run(work)}>
      {text}
    </button>
  );
  return (
    <>
      <div className="jp-pai-Actions" role="group" data-lm-suppress-shortcuts="true" aria-label={trans.__('Actions')}>
        {!hasEnded(job) && button(trans.__('Stop'), stop)}
        {button(trans.__('Rerun'), () => rerun({}), trans.__('Submit the same spec and code again'))}
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
          ? button(trans.__('Unpin'), pin, trans.__('Allow this job to be deleted'))
          : button(trans.__('Pin'), pin, trans.__('Protect this job from deletion and pruning'))}
        {job.terminal &&
          host.openTerminal &&
          button(trans.__('Terminal'), terminal, trans.__('Open a terminal in the job'))}
        {hasEnded(job) && button(trans.__('Delete'), remove)}
      </div>
      <Trouble trouble={task.trouble} />
      {started && (
        <p className="jp-pai-Started" role="status">
          {trans.__('Started as')} <JobLink host={host} jobId={started} />
        </p>
      )}
      {isEdited && <EditForm {...props} rerun={rerun} onCancel={close} />}
    </>
  );
}
