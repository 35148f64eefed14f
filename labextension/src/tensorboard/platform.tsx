/**
 * The TensorBoard that the platform of a job runs: find, start, open and stop it. It uses a limited slot, so it starts
 * only on request.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import type { BoardStatus, IPlatformBoard, IPlatformBoards } from './platformboards.js';
import type { Act, IPlatformActs } from './platformmodel.js';
import { usePlatformActs } from './platformmodel.js';
import { Occupants } from './slots.js';

type Trans = ITabProps['trans'];

/** Renders nothing if the platform runs no TensorBoards. */
export function PlatformTensorBoard(props: ITabProps): React.JSX.Element | null {
  return props.model.job?.platformBoards ? <Part {...props} /> : null;
}

function Part(props: ITabProps): React.JSX.Element {
  const { trans } = props;
  const acts = usePlatformActs(props);
  const { known, act, trouble, occupants } = acts;
  const title = useFocus(act !== null);
  const id = React.useId();
  const isStarted = known?.boards.some(({ status }) => status === 'starting' || status === 'running') ?? true;
  return (
    <section className="jp-pai-TensorBoard-one jp-pai-TensorBoard-platform" aria-labelledby={`${id}-title`}>
      <p className="jp-pai-TensorBoard-title" id={`${id}-title`} tabIndex={-1} ref={title}>
        {trans.__('TensorBoard on the platform')}
      </p>
      <p className="jp-pai-TensorBoard-facts" id={`${id}-cost`}>
        {known && costs(known, trans)}
      </p>
      {known?.boards.map(board => (
        <Board key={board.id} {...props} board={board} acts={acts} />
      ))}
      {!isStarted && (
        <div className="jp-pai-TensorBoard-buttons">
          <button
            type="button"
            className="jp-mod-styled"
            aria-describedby={`${id}-cost`}
            disabled={act !== null}
            onClick={acts.start}
          >
            {trans.__('Start TensorBoard on the platform')}
          </button>
        </div>
      )}
      <p role="status">{news(act, trouble === null, known, trans)}</p>
      <Trouble trouble={trouble} />
      {!known && trouble && (
        <div className="jp-pai-TensorBoard-buttons">
          <button type="button" className="jp-mod-styled" onClick={acts.look}>
            {trans.__('Refresh')}
          </button>
        </div>
      )}
      {occupants && <Occupants {...props} occupants={occupants} replace={acts.replace} />}
    </section>
  );
}

/** Describe the cost before a start. */
function costs({ most, minutes }: IPlatformBoards, trans: Trans): string {
  return most && minutes
    ? trans.__(
        'Runs on the platform. It takes one of the %1 TensorBoard slots of the account, may be billed, and stops automatically after %2 minutes.',
        most,
        minutes
      )
    : trans.__('Runs on the platform. It may take a TensorBoard slot of the account, and may be billed.');
}

/** Return the status text, announced by screen readers. */
function news(act: Act | null, isWell: boolean, known: IPlatformBoards | null, trans: Trans): string {
  const words: Readonly<Record<Act, string>> = {
    starting: trans.__('Starting…'),
    stopping: trans.__('Stopping…'),
    deleting: trans.__('Deleting…'),
    replacing: trans.__('Stopping it and starting one for this job…')
  };
  if (act) {
    return words[act];
  }
  if (!known) {
    return isWell ? trans.__('Loading…') : '';
  }
  const newest = known.boards[0]?.status ?? 'stopped';
  return {
    starting: trans.__('Starting. This may take a few minutes.'),
    running: trans.__('Ready to open.'),
    stopped: '',
    failed: trans.__('Failed to start.')
  }[newest];
}

interface IBoardProps extends ITabProps {
  readonly board: IPlatformBoard;
  readonly acts: IPlatformActs;
}

/** An existing TensorBoard. */
function Board({ board, acts, host, trans }: IBoardProps): React.JSX.Element {
  const { name, status, link } = board;
  const isBusy = acts.act !== null;
  const words: Readonly<Record<BoardStatus, string>> = {
    starting: trans.__('starting'),
    running: trans.__('running'),
    stopped: trans.__('stopped'),
    failed: trans.__('failed')
  };
  const stop = async () => {
    const text = trans.__('Current viewers are disconnected. It can be started again with the same data.');
    const question = { title: trans.__('Stop TensorBoard %1?', name), text, yes: trans.__('Stop'), warn: true };
    if (await host.confirm(question)) {
      acts.stop(board);
    }
  };
  const remove = async () => {
    const text = trans.__('It is stopped and removed from the platform. The event files of the job are kept.');
    const question = { title: trans.__('Delete TensorBoard %1?', name), text, yes: trans.__('Delete'), warn: true };
    if (await host.confirm(question)) {
      acts.remove(board);
    }
  };
  return (
    <div className="jp-pai-TensorBoard-board" role="group" aria-label={name} data-status={status}>
      <p>
        {name} · {words[status]}
        {board.reason && ` · ${board.reason}`}
      </p>
      {status === 'starting' && <progress aria-label={trans.__('Starting…')} />}
      <div className="jp-pai-TensorBoard-buttons">
        {link && (
          <a href={link} target="_blank" rel="noopener noreferrer" className="jp-pai-TensorBoard-link">
            {trans.__('Open on the platform in a new window')}
          </a>
        )}
        {(status === 'starting' || status === 'running') && (
          <button type="button" className="jp-mod-styled" disabled={isBusy} onClick={() => void stop()}>
            {trans.__('Stop on the platform')}
          </button>
        )}
        <button type="button" className="jp-mod-styled" disabled={isBusy} onClick={() => void remove()}>
          {trans.__('Delete on the platform')}
        </button>
      </div>
    </div>
  );
}

/** Focus the title when the focused button disappeared after an action. */
function useFocus(isBusy: boolean): React.RefObject<HTMLParagraphElement> {
  const place = React.useRef<HTMLParagraphElement>(null);
  const wasBusy = React.useRef(false);
  React.useLayoutEffect(() => {
    const { activeElement, body } = document;
    if (wasBusy.current && !isBusy && (activeElement === null || activeElement === body)) {
      place.current?.focus();
    }
    wasBusy.current = isBusy;
  }, [isBusy]);
  return place;
}
