/**
 * The list of transfers: progress, questions and results.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { useChanges } from '../ui/context.js';
import { plural, size } from '../ui/format.js';
import type { ConflictAnswer, Transfer, Transfers } from './transfermodel.js';

interface IProps {
  readonly transfers: Transfers;
  readonly trans: TranslationBundle;
}

// Maximum number of names in a question.
const MAX_NAMES = 3;

export function TransferList({ transfers, trans }: IProps): React.JSX.Element | null {
  useChanges(transfers);
  if (transfers.all.length === 0) {
    return null;
  }
  const ended = transfers.all.filter(transfer => transfer.hasEnded);
  return (
    <ul className="jp-pai-Transfers" aria-label={trans.__('Transfers')}>
      {transfers.all.map((transfer, n) => (
        <Row key={transfers.all.length - n} {...{ transfer, transfers, trans }} />
      ))}
      {ended.length > 1 && (
        <li>
          <button
            type="button"
            className="jp-pai-Link"
            onClick={() => ended.forEach(transfer => transfers.hide(transfer))}
          >
            {trans.__('Clear finished')}
          </button>
        </li>
      )}
    </ul>
  );
}

function Row({ transfer, transfers, trans }: IProps & { transfer: Transfer }): React.JSX.Element {
  const { state, title, done, bytes, existing, error } = transfer;
  const labels: Readonly<Record<ConflictAnswer, string>> = {
    replace: trans.__('Replace'),
    keep: trans.__('Keep both'),
    skip: trans.__('Skip')
  };
  const progress = bytes ? trans.__('%1 of %2', size(done), size(bytes)) : trans.__('in progress');
  const names = [...existing.slice(0, MAX_NAMES), ...(existing.length > MAX_NAMES ? ['…'] : [])].join(', ');
  const button = (text: string, act: () => void) => (
    <button key={text} type="button" className="jp-pai-Button" onClick={act}>
      {text}
    </button>
  );
  return (
    <li className="jp-pai-Copy" data-status={state}>
      <span className="jp-pai-Transfers-title">{title}</span>
      {state === 'running' && (
        <>
          <progress {...(bytes ? { value: done, max: bytes } : {})} aria-label={`${title} ${progress}`} />
          <span className="jp-pai-Channel-facts">{progress}</span>
          {button(trans.__('Cancel'), () => transfer.cancel())}
        </>
      )}
      {state === 'asking' && (
        <>
          <span role="alert">
            {plural(
              existing.length,
              trans.__('%1 file already exists: %2', existing.length, names),
              trans.__('%1 files already exist: %2', existing.length, names)
            )}
          </span>
          {transfer.answers.map(answer => button(labels[answer], () => void transfers.resume(transfer, answer)))}
        </>
      )}
      {state === 'done' && <span>{trans.__('done')}</span>}
      {state === 'cancelled' && <span>{trans.__('cancelled, partial files removed')}</span>}
      {(state === 'failed' || state === 'running') && error && (
        <span role="alert" className="jp-pai-Job-trouble">
          {error}
        </span>
      )}
      {transfer.canResume && button(trans.__('Try again'), () => void transfers.resume(transfer))}
      {transfer.hasEnded && button(trans.__('Hide'), () => transfers.hide(transfer))}
    </li>
  );
}
