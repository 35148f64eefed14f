/**
 * State of the TensorBoards that the platform of a job runs, and actions on them.
 */

import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { ITabProps } from '../ui/context.js';
import { troubleOf, useTask } from '../ui/hooks.js';
import type { IPlatformBoard, IPlatformBoards } from './platformboards.js';
import { isGone, occupantsOf, parsePlatformBoards } from './platformboards.js';

// Milliseconds between two polls: while one starts, and otherwise.
const LOOK_SOON = 2000;
const LOOK_LATER = 20_000;
// Milliseconds during which the slot of a stopped TensorBoard may still be reported as in use.
const PATIENCE = 60_000;

export type Act = 'starting' | 'stopping' | 'deleting' | 'replacing';

export interface IPlatformActs {
  /** Null until loaded. */
  readonly known: IPlatformBoards | null;
  /** The current action. */
  readonly act: Act | null;
  /** The error of the last action, else of the last poll. */
  readonly trouble: ITrouble | null;
  /** Running TensorBoards, if all slots are in use. */
  readonly occupants: readonly IPlatformBoard[] | null;
  readonly look: () => void;
  readonly start: () => void;
  readonly stop: (board: IPlatformBoard) => void;
  readonly remove: (board: IPlatformBoard) => void;
  /** Stop one, and start the job's in its slot. */
  readonly replace: (board: IPlatformBoard) => void;
}

/** Return the state, polled while visible, and actions. */
export function usePlatformActs({ engine, model, isVisible }: ITabProps): IPlatformActs {
  const { jobId } = model;
  const profile = model.job?.profile ?? '';
  const looked = useLooks(engine, jobId, isVisible);
  const task = useTask();
  const [act, setAct] = React.useState<Act | null>(null);
  const [occupants, setOccupants] = React.useState<readonly IPlatformBoard[] | null>(null);
  const run = (name: Act, work: () => Promise<unknown>) =>
    task.run(async () => {
      setAct(name);
      looked.hold(true);
      try {
        await work();
        setOccupants(null);
      } catch (error) {
        const running = occupantsOf(error);
        if (!running) {
          throw error; // Earlier listed ones can still be replaced.
        }
        setOccupants(running);
      } finally {
        looked.hold(false);
        await looked.look();
        setAct(null);
      }
    });
  const open = () => engine.call('open_platform_board', {}, { job: jobId });
  const end = async ({ id }: IPlatformBoard, isForGood: boolean) => {
    try {
      await engine.call('stop_platform_board', { board: id, profile, delete: isForGood });
    } catch (error) {
      if (!isGone(error)) {
        throw error;
      }
    }
  };
  return {
    known: looked.known,
    act,
    trouble: task.trouble ?? (act ? null : looked.trouble),
    occupants: act ? null : occupants,
    look: () => void looked.look(),
    start: () => run('starting', open),
    stop: board => run('stopping', () => end(board, false)),
    remove: board => run('deleting', () => end(board, true)),
    replace: board =>
      run('replacing', async () => {
        await end(board, false);
        await withPatience(open);
      })
  };
}

/** Retry for a while if all slots are in use. */
async function withPatience(open: () => Promise<unknown>): Promise<unknown> {
  const until = Date.now() + PATIENCE;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!occupantsOf(error) || Date.now() > until) {
        throw error;
      }
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_SOON));
  }
}

interface ILooks {
  readonly known: IPlatformBoards | null;
  readonly trouble: ITrouble | null;
  readonly look: () => Promise<void>;
  /** Discard poll results during an action, since they may be outdated. */
  readonly hold: (isHeld: boolean) => void;
}

function useLooks(engine: IEngine, jobId: string, isVisible: boolean): ILooks {
  const [known, setKnown] = React.useState<IPlatformBoards | null>(null);
  const [trouble, setTrouble] = React.useState<ITrouble | null>(null);
  const turn = React.useRef(0);
  const isHeld = React.useRef(false);
  const look = React.useCallback(async () => {
    const mine = ++turn.current;
    const isNews = () => mine === turn.current && !isHeld.current;
    try {
      const found = parsePlatformBoards(await engine.call('platform_boards', { job: jobId }));
      if (isNews()) {
        setKnown(found);
        setTrouble(null);
      }
    } catch (error) {
      if (isNews()) {
        setTrouble(troubleOf(error));
      }
    }
  }, [engine, jobId]);
  const isSoon = known?.boards.some(board => board.status === 'starting') ?? false;
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const again = async () => {
      await look();
      if (!isOver) {
        timer = setTimeout(() => void again(), isSoon ? LOOK_SOON : LOOK_LATER);
      }
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [look, isVisible, isSoon]);
  const hold = (held: boolean) => {
    turn.current += 1;
    isHeld.current = held;
  };
  return { known, trouble, look, hold };
}
