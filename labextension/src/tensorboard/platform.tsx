/**
 * The TensorBoard that the platform of a job runs: find, start, open and stop it. It uses a limited slot, so it starts
 * only on request.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import type { BoardStatus, IPlatformBoard, IPlatformBoards } from './platformboards.js';
import type { IPlatformModel, PlatformAction } from './platformmodel.js';
import { usePlatformModel } from './platformmodel.js';
import { OccupiedSlots } from './slots.js';

type Trans = ITabProps['trans'];

/** Renders nothing if the platform runs no TensorBoards. */
export function PlatformTensorBoard(props: ITabProps): React.JSX.Element | null {
  return props.model.job?.platformBoards ? <PlatformSection {...props} /> : null;
}

function PlatformSection(props: ITabProps): React.JSX.Element {
  const { trans } = props;
  const platform = usePlatformModel(props);
  const { state, action, error, occupied } = platform;
  const title = useFocus(action !== null);
  const id = React.useId();
  const isStarted = state?.boards.some(({ status }) => status === 'starting' || status === 'running') ?? true;
  return (
    <section className="jp-pai-TensorBoard-one jp-pai-TensorBoard-platform" aria-labelledby={`${id}-title`}>
      <p className="jp-pai-TensorBoard-title" id={`${id}-title`} tabIndex={-1} ref={title}>
        {trans.__('TensorBoard on the platform')}
      </p>
      <p className="jp-pai-TensorBoard-facts" id={`${id}-cost`}>
        {state && costText(state, trans)}
      </p>
      {state?.boards.map(board => (
        <Board key={board.id} {...props} board={board} platform={platform} />
      ))}
      {!isStarted && (
        <div className="jp-pai-TensorBoard-buttons">
          <button
            type="button"
            className="jp-mod-styled"
            aria-describedby={`${id}-cost`}
            disabled={action !== null}
            onClick={platform.start}
          >
            {trans.__('Start TensorBoard on the platform')}
          </button>
        </div>
      )}
      <p role="status">{statusText(action, error === null, state, trans)}</p>
      <ErrorMessage error={error} />
      {!state && error && (
        <div className="jp-pai-TensorBoard-buttons">
          <button type="button" className="jp-mod-styled" onClick={platform.refresh}>
            {trans.__('Refresh')}
          </button>
        </div>
      )}
      {occupied && <OccupiedSlots {...props} occupied={occupied} replace={platform.replace} />}
    </section>
  );
}

/** Describe the cost before a start. */
function costText({ most, minutes }: IPlatformBoards, trans: Trans): string {
  return most && minutes
    ? trans.__(
        'Runs on the platform. It takes one of the %1 TensorBoard slots of the account, may be billed, and stops automatically after %2 minutes.',
        most,
        minutes
      )
    : trans.__('Runs on the platform. It may take a TensorBoard slot of the account, and may be billed.');
}

/** Return the status text, announced by screen readers. */
function statusText(action: PlatformAction | null, isOk: boolean, state: IPlatformBoards | null, trans: Trans): string {
  const texts: Readonly<Record<PlatformAction, string>> = {
    starting: trans.__('Starting…'),
    stopping: trans.__('Stopping…'),
    deleting: trans.__('Deleting…'),
    replacing: trans.__('Stopping it and starting one for this job…')
  };
  if (action) {
    return texts[action];
  }
  if (!state) {
    return isOk ? trans.__('Loading…') : '';
  }
  const newest = state.boards[0]?.status ?? 'stopped';
  return {
    starting: trans.__('Starting. This may take a few minutes.'),
    running: trans.__('Ready to open.'),
    stopped: '',
    failed: trans.__('Failed to start.')
  }[newest];
}

interface IBoardProps extends ITabProps {
  readonly board: IPlatformBoard;
  readonly platform: IPlatformModel;
}

/** An existing TensorBoard. */
function Board({ board, platform, host, trans }: IBoardProps): React.JSX.Element {
  const { name, status, link } = board;
  const isBusy = platform.action !== null;
  const names: Readonly<Record<BoardStatus, string>> = {
    starting: trans.__('starting'),
    running: trans.__('running'),
    stopped: trans.__('stopped'),
    failed: trans.__('failed')
  };
  const stop = async () => {
    const text = trans.__('Current viewers are disconnected. It can be started again with the same data.');
    const question = { title: trans.__('Stop TensorBoard %1?', name), text, yes: trans.__('Stop'), warn: true };
    if (await host.confirm(question)) {
      platform.stop(board);
    }
  };
  const remove = async () => {
    const text = trans.__('It is stopped and removed from the platform. The event files of the job are kept.');
    const question = { title: trans.__('Delete TensorBoard %1?', name), text, yes: trans.__('Delete'), warn: true };
    if (await host.confirm(question)) {
      platform.remove(board);
    }
  };
  return (
    <div className="jp-pai-TensorBoard-board" role="group" aria-label={name} data-status={status}>
      <p>
        {name} · {names[status]}
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
  const title = React.useRef<HTMLParagraphElement>(null);
  const wasBusy = React.useRef(false);
  React.useLayoutEffect(() => {
    const { activeElement, body } = document;
    if (wasBusy.current && !isBusy && (activeElement === null || activeElement === body)) {
      title.current?.focus();
    }
    wasBusy.current = isBusy;
  }, [isBusy]);
  return title;
}
