/**
 * What components do with the engine: call it when a button is pressed, ask it when something is shown.
 */

import * as React from 'react';

import { EngineError } from '../engine.js';
import type { IEvent } from '../history.js';
import { eventKey, parseEvents } from '../history.js';
import type { ITrouble } from '../model.js';
import type { ITabProps } from './context.js';

/** Something that is done when the user asks for it. While `isBusy`, asking again does nothing. */
export interface ITask {
  readonly isBusy: boolean;
  readonly trouble: ITrouble | null;
  run(work: () => Promise<void>): void;
}

/** What went wrong, in words. */
export function troubleOf(error: unknown): ITrouble {
  const fix = error instanceof EngineError ? error.fix : '';
  return { message: error instanceof Error ? error.message : String(error), fix };
}

export function useTask(): ITask {
  const [isBusy, setBusy] = React.useState(false);
  const [trouble, setTrouble] = React.useState<ITrouble | null>(null);
  const running = React.useRef(false);
  const run = (work: () => Promise<void>) => {
    if (running.current) {
      return;
    }
    running.current = true;
    setBusy(true);
    setTrouble(null);
    void work()
      .catch((error: unknown) => setTrouble(troubleOf(error)))
      .finally(() => {
        running.current = false;
        setBusy(false);
      });
  };
  return { isBusy, trouble, run };
}

/** What the engine answers to a question, asked whenever `key` changes while `isOn`; null until it has. */
export function useAnswer<T>(ask: () => Promise<T>, key: string, isOn: boolean): [T | null, ITrouble | null] {
  const [answer, setAnswer] = React.useState<T | null>(null);
  const [trouble, setTrouble] = React.useState<ITrouble | null>(null);
  React.useEffect(() => {
    if (!isOn) {
      return;
    }
    let isOver = false;
    ask().then(
      found => {
        if (!isOver) {
          setAnswer(found);
          setTrouble(null);
        }
      },
      (error: unknown) => {
        if (!isOver) {
          setTrouble(troubleOf(error));
        }
      }
    );
    return () => {
      isOver = true;
    };
  }, [key, isOn]);
  return [answer, trouble];
}

/** The events of a job, oldest first; those that are new are asked for when the job has changed. */
export function useEvents({ engine, model, isVisible }: ITabProps): [readonly IEvent[], ITrouble | null] {
  const known = React.useRef<readonly IEvent[]>([]);
  const ask = async () => {
    for (;;) {
      const after = known.current.at(-1)?.id ?? 0;
      const found = parseEvents(await engine.call('events', { job: model.jobId, after }));
      const news = found.filter(event => event.id > (known.current.at(-1)?.id ?? 0));
      if (!news.length) {
        return known.current;
      }
      known.current = [...known.current, ...news];
    }
  };
  const [events, trouble] = useAnswer(ask, model.job ? eventKey(model.job) : '', isVisible && model.job !== null);
  return [events ?? [], trouble];
}
