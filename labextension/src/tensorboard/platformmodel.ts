/**
 * State of the TensorBoards that the platform of a job runs, and actions on them.
 */

import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import type { ITabProps } from '../ui/context.js';
import { useTask } from '../ui/hooks.js';
import { usePolling } from '../ui/polling.js';
import type { IPlatformBoard, IPlatformBoards } from './platformboards.js';
import { isNotFound, occupiedSlots, parsePlatformBoards } from './platformboards.js';

// Milliseconds between two polls: while one starts, and otherwise.
const POLL_WHILE_STARTING = 2000;
const POLL_INTERVAL = 20_000;
// Milliseconds during which the slot of a stopped TensorBoard may still be reported as in use.
const RETRY_TIME = 60_000;

export type PlatformAction = 'starting' | 'stopping' | 'deleting' | 'replacing';

export interface IPlatformModel {
  /** Null until loaded. */
  readonly state: IPlatformBoards | null;
  /** The current action. */
  readonly action: PlatformAction | null;
  /** The error of the last action, else of the last poll. */
  readonly error: IErrorMessage | null;
  /** Running TensorBoards, if all slots are in use. */
  readonly occupied: readonly IPlatformBoard[] | null;
  readonly refresh: () => void;
  readonly start: () => void;
  readonly stop: (board: IPlatformBoard) => void;
  readonly remove: (board: IPlatformBoard) => void;
  /** Stop one, and start the job's in its slot. */
  readonly replace: (board: IPlatformBoard) => void;
}

/** Return the state, polled while visible, and actions. */
export function usePlatformModel({ engine, model, isVisible }: ITabProps): IPlatformModel {
  const { jobId } = model;
  const profile = model.job?.profile ?? '';
  const fetch = async () => parsePlatformBoards(await engine.call('platform_boards', { job: jobId }));
  const polling = usePolling(fetch, isVisible, pollInterval);
  const task = useTask();
  const [action, setAction] = React.useState<PlatformAction | null>(null);
  const [occupied, setOccupied] = React.useState<readonly IPlatformBoard[] | null>(null);
  const run = (name: PlatformAction, work: () => Promise<unknown>) =>
    task.run(async () => {
      setAction(name);
      polling.hold(true);
      try {
        await work();
        setOccupied(null);
      } catch (error) {
        const running = occupiedSlots(error);
        if (!running) {
          throw error; // Earlier listed ones can still be replaced.
        }
        setOccupied(running);
      } finally {
        polling.hold(false);
        await polling.poll();
        setAction(null);
      }
    });
  const open = () => engine.call('open_platform_board', {}, { job: jobId });
  const stop = async ({ id }: IPlatformBoard, isForGood: boolean) => {
    try {
      await engine.call('stop_platform_board', { board: id, profile, delete: isForGood });
    } catch (error) {
      if (!isNotFound(error)) {
        throw error;
      }
    }
  };
  return {
    state: polling.value,
    action,
    error: task.error ?? (action ? null : polling.error),
    occupied: action ? null : occupied,
    refresh: () => void polling.poll(),
    start: () => run('starting', open),
    stop: board => run('stopping', () => stop(board, false)),
    remove: board => run('deleting', () => stop(board, true)),
    replace: board =>
      run('replacing', async () => {
        await stop(board, false);
        await retryWhileFull(open);
      })
  };
}

/** Retry for a while if all slots are in use. */
async function retryWhileFull(open: () => Promise<unknown>): Promise<unknown> {
  const until = Date.now() + RETRY_TIME;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!occupiedSlots(error) || Date.now() > until) {
        throw error;
      }
    }
    await new Promise(resolve => setTimeout(resolve, POLL_WHILE_STARTING));
  }
}

function pollInterval(state: IPlatformBoards | null): number {
  return state?.boards.some(board => board.status === 'starting') ? POLL_WHILE_STARTING : POLL_INTERVAL;
}
