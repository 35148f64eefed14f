/**
 * The tab TensorBoard of the job view: start, open and stop TensorBoards.
 */

import * as React from 'react';

import { EngineError } from '../api/engine.js';
import { hasEnded } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { moment } from '../ui/format.js';
import type { IBoard } from './boards.js';
import { boardsOf, boardUrl, parseBoard } from './boards.js';
import { PlatformTensorBoard } from './platform.js';

// Milliseconds between two polls, which find TensorBoards started or stopped elsewhere.
const POLL_INTERVAL = 10_000;

interface IState {
  /** Null until loaded. */
  readonly boards: readonly IBoard[] | null;
  readonly busy: 'starting' | 'stopping' | null;
  readonly error: EngineError | null;
}

export function TensorBoard(props: ITabProps): React.JSX.Element {
  return (
    <div className="jp-pai-TensorBoard">
      {props.engine.kind === 'kernel' ? <ManualStart {...props} /> : <ServerTensorBoards {...props} />}
      <PlatformTensorBoard {...props} />
    </div>
  );
}

/** TensorBoards on the Jupyter server. */
function ServerTensorBoards(props: ITabProps): React.JSX.Element {
  const { model, host, trans } = props;
  const { boards, busy, error, start, stop } = useBoards(props);
  const names = (board: IBoard) => board.jobs.map(job => job.name).join(', ');
  const open = host.openPage && ((board: IBoard) => host.openPage?.(`TensorBoard: ${names(board)}`, board.path));
  const isEmpty = model.job?.tensorboard === false;
  const id = React.useId();
  const isAlone = boards?.some(board => board.jobs.length === 1) ?? false;
  return (
    <>
      <p>{trans.__('Shows the metrics and the event files of the job, during and after the run.')}</p>
      {boards?.map(board => (
        <Board key={board.id} {...props} board={board} open={open} isBusy={busy !== null} stop={stop} />
      ))}
      {boards && !isAlone && error?.code !== 'Unsupported' && (
        <button
          type="button"
          className="jp-mod-styled jp-mod-accept"
          disabled={busy !== null || !model.job?.tensorboard}
          aria-describedby={isEmpty ? id : undefined}
          onClick={() => void start([model.jobId]).then(board => board && open?.(board))}
        >
          {trans.__('Start TensorBoard')}
        </button>
      )}
      {boards && !isAlone && isEmpty && <p id={id}>{emptyText(props)}</p>}
      <p role="status">
        {busy === 'starting' && trans.__('Starting…')}
        {busy === 'stopping' && trans.__('Stopping…')}
      </p>
      {error && (
        <p role="alert" className="jp-pai-TensorBoard-trouble">
          {error.message || trans.__('The server does not respond.')} {error.fix}
        </p>
      )}
    </>
  );
}

/** Without a server: the command that prints how to start TensorBoard. */
function ManualStart(props: ITabProps): React.JSX.Element {
  const { model, trans } = props;
  if (model.job?.tensorboard === false) {
    return <p>{emptyText(props)}</p>;
  }
  return (
    <>
      <p>{trans.__('TensorBoard needs a Jupyter server; this page is not connected to one. In a terminal, run:')}</p>
      <code>{`jupyter pai tensorboard ${model.jobId}`}</code>
    </>
  );
}

/** The text for a job without metrics and event files. */
function emptyText({ model, trans }: ITabProps): string {
  return model.job && hasEnded(model.job)
    ? trans.__('This job has no metrics for TensorBoard.')
    : trans.__('This job has no metrics for TensorBoard yet.');
}

interface IBoardProps extends ITabProps {
  readonly board: IBoard;
  readonly open: ((board: IBoard) => void) | undefined;
  readonly isBusy: boolean;
  readonly stop: (board: IBoard) => Promise<void>;
}

/** A running TensorBoard. */
function Board({ board, open, isBusy, stop, engine, trans }: IBoardProps): React.JSX.Element {
  const url = boardUrl(engine, board);
  const title =
    board.jobs.length === 1
      ? trans.__('TensorBoard is running')
      : trans.__('TensorBoard comparing %1', board.jobs.map(job => job.name).join(', '));
  return (
    <section className="jp-pai-TensorBoard-one" aria-label={title}>
      <p className="jp-pai-TensorBoard-title">{title}</p>
      <p className="jp-pai-TensorBoard-facts">
        {trans.__('Running since %1. Stops after %2 minutes without viewers.', ...facts(board))}
      </p>
      <div className="jp-pai-TensorBoard-buttons">
        {open && (
          <button type="button" className="jp-mod-styled" onClick={() => open(board)}>
            {trans.__('Open in a tab')}
          </button>
        )}
        {url === null ? (
          <span>{trans.__('Available at %1 on the Jupyter server.', board.path)}</span>
        ) : (
          <a href={url} target="_blank" rel="noopener" className="jp-pai-TensorBoard-link">
            {trans.__('Open in a new window')}
          </a>
        )}
        <button type="button" className="jp-mod-styled" disabled={isBusy} onClick={() => void stop(board)}>
          {trans.__('Stop TensorBoard')}
        </button>
      </div>
    </section>
  );
}

function facts(board: IBoard): [string, string] {
  return [moment(board.startedAt), String(Number((board.idleTimeout / 60_000).toPrecision(2)))];
}

interface IBoards extends IState {
  readonly start: (jobs: readonly string[]) => Promise<IBoard | null>;
  readonly stop: (board: IBoard) => Promise<void>;
}

/** Return the TensorBoards that show the job, polled while visible. */
function useBoards({ engine, model, isVisible }: ITabProps): IBoards {
  const { jobId } = model;
  const [state, setState] = React.useState<IState>({ boards: null, busy: null, error: null });
  // Discards poll results from before an action.
  const version = React.useRef(0);
  const poll = React.useCallback(async () => {
    const current = version.current;
    try {
      const boards = boardsOf(await engine.call('tensorboards'), jobId);
      if (current === version.current) {
        setState(old => ({ ...old, boards, error: old.boards ? old.error : null }));
      }
    } catch (error) {
      if (current === version.current) {
        setState(old => ({ ...old, boards: old.boards ?? [], error: engineErrorOf(error) }));
      }
    }
  }, [engine, jobId]);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    void poll();
    const timer = setInterval(() => void poll(), POLL_INTERVAL);
    return () => clearInterval(timer);
  }, [engine, poll, isVisible]);
  const act = async <T,>(busy: IState['busy'], call: () => Promise<T>): Promise<T | null> => {
    version.current += 1;
    setState(old => ({ ...old, busy, error: null }));
    try {
      return await call();
    } catch (error) {
      setState(old => ({ ...old, error: engineErrorOf(error) }));
      return null;
    } finally {
      setState(old => ({ ...old, busy: null }));
      await poll();
    }
  };
  return {
    ...state,
    start: async jobs => act('starting', async () => parseBoard(await engine.call('start_tensorboard', {}, { jobs }))),
    stop: async board => {
      await act('stopping', async () => engine.call('stop_tensorboard', { tensorboard: board.id }));
    }
  };
}

function engineErrorOf(error: unknown): EngineError {
  return error instanceof EngineError ? error : new EngineError(String(error));
}
