/**
 * The form as code, and code as the form.
 */

import * as React from 'react';

import { requestOf } from '../draft.js';
import type { Json } from '../wire.js';
import { record, string } from '../wire.js';
import { CodeForms } from './code.js';
import { useAnswer, useTask } from './hooks.js';
import { Fold } from './trainfield.js';
import type { IPart } from './trainpart.js';
import { Trouble } from './trouble.js';

const EXAMPLE = '%%pai_train --hp lr=0.01';

export function TrainCode(props: IPart): React.JSX.Element {
  const { trans } = props;
  return (
    <Fold title={trans.__('As code')} said={trans.__('cell, command line, Python, JSON')}>
      <Recipe {...props} />
      <Paste {...props} />
    </Fold>
  );
}

function Recipe({ desk, draft, engine, host, trans }: IPart): React.JSX.Element {
  const request = requestOf(draft);
  const ask = async () => record(await engine.call('recipe', {}, request));
  const [code, trouble] = useAnswer(ask, JSON.stringify(request), true);
  const isNotebook = desk.path.endsWith('.ipynb') && host.insertCell !== undefined;
  const insert = async (cell: string) => {
    if (!(await host.insertCell?.(desk.path, cell))) {
      host.notify(trans.__('The notebook is not open.'), 'warning');
    }
  };
  return <CodeForms trans={trans} code={code} trouble={trouble} insert={isNotebook ? insert : undefined} />;
}

/** A text that is put into the form. */
function Paste({ desk, draft, engine, trans }: IPart): React.JSX.Element {
  const [text, setText] = React.useState('');
  const [said, setSaid] = React.useState('');
  const task = useTask();
  const id = React.useId();
  const titles: Json = {
    cell: trans.__('Cell'),
    cli: trans.__('Command line'),
    python: trans.__('Python'),
    json: trans.__('JSON')
  };
  const put = () =>
    task.run(async () => {
      const notebook = string(draft.rest['notebook']);
      const found = record(await engine.call('read_recipe', {}, { text, notebook }));
      const request = record(found['request']);
      desk.put(notebook && !string(request['notebook']) ? { ...request, notebook } : request);
      setText('');
      setSaid(trans.__('In the form: %1', string(titles[string(found['form'])])));
    });
  return (
    <div className="jp-pai-Field">
      <label htmlFor={id}>{trans.__('Paste a cell, a command line, Python or JSON')}</label>
      <textarea
        id={id}
        className="jp-pai-Input jp-pai-Train-code"
        rows={4}
        spellCheck={false}
        aria-invalid={task.trouble !== null}
        placeholder={EXAMPLE}
        value={text}
        onChange={event => {
          setText(event.target.value);
          setSaid('');
        }}
      />
      <Trouble trouble={task.trouble} />
      <div className="jp-pai-Actions">
        <button type="button" className="jp-pai-Button" disabled={!text.trim() || task.isBusy} onClick={put}>
          {trans.__('Put into the form')}
        </button>
        <span role="status">{said}</span>
      </div>
    </div>
  );
}
