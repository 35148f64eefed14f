/**
 * A job spec as code, to copy.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { ITrouble } from '../api/jobmodel.js';
import type { Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import { copy } from '../host/clipboard.js';
import type { ITabProps } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { useAnswer } from '../ui/hooks.js';

const FORMS = ['cell', 'cli', 'python', 'json'] as const;
type Form = (typeof FORMS)[number];

export function Code({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element {
  const ask = async () => record(await engine.call('code', { job: model.jobId }));
  const [code, trouble] = useAnswer(ask, model.jobId, isVisible);
  return <CodeForms trans={trans} code={code} trouble={trouble} />;
}

interface ICodeForms {
  readonly trans: TranslationBundle;
  /** The code by format. */
  readonly code: Json | null;
  readonly trouble: ITrouble | null;
  /** Insert the code of a cell into a notebook. */
  readonly insert?: ((cell: string) => Promise<void>) | undefined;
}

/** Show one format at a time. */
export function CodeForms({ trans, code, trouble, insert }: ICodeForms): React.JSX.Element {
  const [form, setForm] = React.useState<Form>('cell');
  const [said, setSaid] = React.useState('');
  const titles: Readonly<Record<Form, string>> = {
    cell: trans.__('Cell'),
    cli: trans.__('Command line'),
    python: trans.__('Python'),
    json: trans.__('JSON')
  };
  const text = string(code?.[form]);
  const copyIt = async () => {
    setSaid((await copy(text)) ? trans.__('Copied') : trans.__('The browser blocked copying.'));
  };
  return (
    <div className="jp-pai-Code">
      <div
        className="jp-pai-Code-bar"
        role="group"
        data-lm-suppress-shortcuts="true"
        aria-label={trans.__('Export as code')}
      >
        {FORMS.map(name => (
          <button
            key={name}
            type="button"
            className="jp-pai-Button"
            aria-pressed={name === form}
            onClick={() => {
              setForm(name);
              setSaid('');
            }}
          >
            {titles[name]}
          </button>
        ))}
        <button type="button" className="jp-pai-Button" disabled={!text} onClick={() => void copyIt()}>
          {trans.__('Copy')}
        </button>
        {insert && form === 'cell' && (
          <button type="button" className="jp-pai-Button" disabled={!text} onClick={() => void insert(text)}>
            {trans.__('Insert as cell below')}
          </button>
        )}
        <span role="status">{said}</span>
      </div>
      {text && (
        <pre className="jp-pai-Code-text" tabIndex={0} aria-label={titles[form]}>
          {text}
        </pre>
      )}
      <Trouble trouble={trouble} />
    </div>
  );
}
