/**
 * TensorBoard text summaries of a job, loaded when the section is opened.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import { errorText } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';

interface IProps {
  readonly engine: IEngine;
  readonly jobId: string;
  readonly trans: TranslationBundle;
}

interface IText {
  readonly tag: string;
  readonly step: number;
  readonly text: string;
}

// Only the latest texts are shown.
const MAX_TEXTS = 100;

export function Texts({ engine, jobId, trans }: IProps): React.JSX.Element {
  const [texts, setTexts] = React.useState<readonly IText[] | null>(null);
  const [error, setError] = React.useState('');
  const load = async () => {
    try {
      const response = record(await engine.call('texts', { job: jobId }));
      setTexts(list(response['texts']).slice(-MAX_TEXTS).map(parseText));
      setError('');
    } catch (error) {
      setError(errorText(error));
    }
  };
  return (
    <details className="jp-pai-Texts" onToggle={event => event.currentTarget.open && void load()}>
      <summary>{trans.__('TensorBoard text')}</summary>
      {error && <p className="jp-pai-Job-trouble">{error}</p>}
      {texts?.length === 0 && <p>{trans.__('No texts.')}</p>}
      {texts?.map(({ tag, step, text }, i) => (
        <div key={i}>
          <b>{tag}</b> <small>{trans.__('at step %1', step)}</small>
          <pre>{text}</pre>
        </div>
      ))}
    </details>
  );
}

function parseText(value: unknown): IText {
  const text = record(value);
  return { tag: string(text['tag']), step: number(text['step']) ?? 0, text: string(text['text']) };
}
