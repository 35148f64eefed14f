/**
 * A job spec as code, to copy.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import type { Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import { copyText } from '../host/clipboard.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useQuery } from '../ui/hooks.js';

const FORMATS = ['cell', 'cli', 'python', 'json', 'document'] as const;
type CodeFormat = (typeof FORMATS)[number];

export function Recipe({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element {
  const fetch = async () => record(await engine.call('code', { job: model.jobId }));
  const [code, error] = useQuery(fetch, model.jobId, isVisible);
  return <CodeFormats trans={trans} code={code} error={error} />;
}

interface ICodeFormats {
  readonly trans: TranslationBundle;
  /** The code by format. */
  readonly code: Json | null;
  readonly error: IErrorMessage | null;
  /** Insert the code of a cell into a notebook. */
  readonly insert?: ((cell: string) => Promise<void>) | undefined;
}

/** Show one format at a time. */
export function CodeFormats({ trans, code, error, insert }: ICodeFormats): React.JSX.Element {
  const [format, setFormat] = React.useState<CodeFormat>('cell');
  const [status, setStatus] = React.useState('');
  const titles: Readonly<Record<CodeFormat, string>> = {
    cell: trans.__('Cell'),
    cli: trans.__('Command line'),
    python: trans.__('Python'),
    json: trans.__('JSON'),
    document: trans.__('Document')
  };
  const text = string(code?.[format]);
  const copyCode = async () => {
    setStatus((await copyText(text)) ? trans.__('Copied') : trans.__('The browser blocked copying.'));
  };
  return (
    <div className="jp-pai-Code">
      <div
        className="jp-pai-Code-bar"
        role="group"
        data-lm-suppress-shortcuts="true"
        aria-label={trans.__('Export as code')}
      >
        {FORMATS.filter(name => name !== 'document' || code?.['document']).map(name => (
          <button
            key={name}
            type="button"
            className="jp-pai-Button"
            aria-pressed={name === format}
            onClick={() => {
              setFormat(name);
              setStatus('');
            }}
          >
            {titles[name]}
          </button>
        ))}
        <button type="button" className="jp-pai-Button" disabled={!text} onClick={() => void copyCode()}>
          {trans.__('Copy')}
        </button>
        {insert && format === 'cell' && (
          <button type="button" className="jp-pai-Button" disabled={!text} onClick={() => void insert(text)}>
            {trans.__('Insert as cell below')}
          </button>
        )}
        <span role="status">{status}</span>
      </div>
      {text && (
        <pre className="jp-pai-Code-text" tabIndex={0} aria-label={titles[format]}>
          {text}
        </pre>
      )}
      <ErrorMessage error={error} />
    </div>
  );
}
