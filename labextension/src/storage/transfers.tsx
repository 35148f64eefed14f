/**
 * The list of transfers: progress, questions and results.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { plural, size } from '../ui/format.js';
import type { Answer, Transfer, Transfers } from './transfermodel.js';

interface IProps {
  readonly transfers: Transfers;
  readonly trans: TranslationBundle;
}

// Maximum number of names in a question.
const NAMED = 3;

export function TransferList({ transfers, trans }: IProps): React.JSX.Element | null {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const slot = () => redraw();
    transfers.changed.connect(slot);
    return () => void transfers.changed.disconnect(slot);
  }, [transfers]);
  if (transfers.known.length === 0) {
    return null;
  }
  const over = transfers.known.filter(transfer => transfer.isOver);
  return (
    <ul className="jp-pai-Transfers" aria-label={trans.__('Transfers')}>
      {transfers.known.map((transfer, n) => (
        <Row key={transfers.known.length - n} {...{ transfer, transfers, trans }} />
      ))}
      {over.length > 1 && (
        <li>
          <button type="button" className="jp-pai-Link" onClick={() => over.forEach(one => transfers.hide(one))}>
            {trans.__('Clear finished')}
          </button>
        </li>
      )}
    </ul>
  );
}

function Row({ transfer, transfers, trans }: IProps & { transfer: Transfer }): React.JSX.Element {
  const { state, title, done, bytes, taken, trouble } = transfer;
  const words: Readonly<Record<Answer, string>> = {
    replace: trans.__('Replace'),
    keep: trans.__('Keep both'),
    skip: trans.__('Skip')
  };
  const part = bytes ? trans.__('%1 of %2', size(done), size(bytes)) : trans.__('in progress');
  const names = [...taken.slice(0, NAMED), ...(taken.length > NAMED ? ['…'] : [])].join(', ');
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
          <progress {...(bytes ? { value: done, max: bytes } : {})} aria-label={`${title} ${part}`} />
          <span className="jp-pai-Channel-facts">{part}</span>
          {button(trans.__('Cancel'), () => transfer.cancel())}
        </>
      )}
      {state === 'asking' && (
        <>
          <span role="alert">
            {plural(
              taken.length,
              trans.__('%1 file already exists: %2', taken.length, names),
              trans.__('%1 files already exist: %2', taken.length, names)
            )}
          </span>
          {transfer.answers.map(answer => button(words[answer], () => void transfers.goOn(transfer, answer)))}
        </>
      )}
      {state === 'done' && <span>{trans.__('done')}</span>}
      {state === 'cancelled' && <span>{trans.__('cancelled, partial files removed')}</span>}
      {(state === 'failed' || state === 'running') && trouble && (
        <span role="alert" className="jp-pai-Job-trouble">
          {trouble}
        </span>
      )}
      {transfer.canGoOn && button(trans.__('Try again'), () => void transfers.goOn(transfer))}
      {transfer.isOver && button(trans.__('Hide'), () => transfers.hide(transfer))}
    </li>
  );
}
