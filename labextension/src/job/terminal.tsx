/**
 * A terminal in a running job: the link to its page, or the command that opens it.
 */

import * as React from 'react';

import { safeLink } from '../api/jobhistory.js';
import { record, string } from '../api/wire.js';
import { copyText } from '../host/clipboard.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useQuery, useTask } from '../ui/hooks.js';

type IProps = Omit<ITabProps, 'isVisible'>;

export function JobTerminal({ engine, host, model, trans }: IProps): React.JSX.Element {
  const fetch = async () => record(await engine.call('open_terminal', { job: model.jobId }));
  const [terminal, error] = useQuery(fetch, model.jobId, true);
  const title = terminal ? trans.__('Terminal in %1', string(terminal['instance'])) : trans.__('Terminal');
  const link = safeLink(string(terminal?.['url']));
  const command = string(terminal?.['command']);
  return (
    <section className="jp-pai-Code" aria-label={title}>
      {!terminal && !error && <p role="status">{trans.__('Loading…')}</p>}
      {link && (
        <p>
          <a className="jp-pai-Link" href={link} target="_blank" rel="noopener noreferrer">
            {title}
          </a>{' '}
          {trans.__('This link expires soon. Anyone who has it can open the terminal.')}
        </p>
      )}
      {command && <Command command={command} title={title} trans={trans} host={host} />}
      <ErrorMessage error={error} />
    </section>
  );
}

interface ICommand extends Pick<IProps, 'trans' | 'host'> {
  readonly command: string;
  readonly title: string;
}

function Command({ command, title, trans, host }: ICommand): React.JSX.Element {
  const [status, setStatus] = React.useState('');
  const task = useTask();
  const copy = async () => {
    setStatus((await copyText(command)) ? trans.__('Copied') : trans.__('The browser blocked copying.'));
  };
  const run = async () => host.openTerminal?.(command);
  return (
    <>
      <div className="jp-pai-Code-bar" role="group" data-lm-suppress-shortcuts="true" aria-label={title}>
        {host.openTerminal && (
          <button type="button" className="jp-pai-Button" disabled={task.isBusy} onClick={() => task.run(run)}>
            {trans.__('Run in a terminal')}
          </button>
        )}
        <button type="button" className="jp-pai-Button" onClick={() => void copy()}>
          {trans.__('Copy')}
        </button>
        <span role="status">{status}</span>
      </div>
      <pre className="jp-pai-Code-text" tabIndex={0} aria-label={trans.__('Command line')}>
        {command}
      </pre>
      <ErrorMessage error={task.error} />
    </>
  );
}
