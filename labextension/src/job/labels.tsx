/**
 * The labels of a job, with controls to add and remove them.
 */

import * as React from 'react';

import type { IJob } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useTask } from '../ui/hooks.js';

export function Labels({ engine, model, trans, job }: ITabProps & { job: IJob }): React.JSX.Element {
  const task = useTask();
  const [name, setName] = React.useState('');
  const [value, setValue] = React.useState('');
  const change = (changes: Readonly<Record<string, string | null>>) =>
    task.run(async () => {
      model.update(await engine.call('label', { job: job.id }, changes));
      setName('');
      setValue('');
    });
  const add = (event: React.FormEvent) => {
    event.preventDefault();
    change({ [name.trim()]: value.trim() });
  };
  return (
    <div className="jp-pai-Labels" data-lm-suppress-shortcuts="true">
      <ul aria-label={trans.__('Labels')}>
        {[...job.labels].map(([label, text]) => (
          <li key={label}>
            {text ? `${label}=${text}` : label}
            <button
              type="button"
              title={trans.__('Remove label %1', label)}
              aria-label={trans.__('Remove label %1', label)}
              disabled={task.isBusy}
              onClick={() => change({ [label]: null })}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <input
          aria-label={trans.__('New label name')}
          placeholder={trans.__('name')}
          value={name}
          onChange={event => setName(event.target.value)}
        />
        <input
          aria-label={trans.__('New label value')}
          placeholder={trans.__('value')}
          value={value}
          onChange={event => setValue(event.target.value)}
        />
        <button type="submit" className="jp-pai-Button" disabled={task.isBusy || !name.trim()}>
          {trans.__('Add label')}
        </button>
      </form>
      <ErrorMessage error={task.error} />
    </div>
  );
}
