/**
 * What components do with the engine: call it when a button is pressed, ask it when something is shown; and what the
 * root of a view does for those who use keys.
 */

import * as React from 'react';

import { EngineError } from '../api/engine.js';
import type { IEvent } from '../api/jobhistory.js';
import { eventKey, parseEvents } from '../api/jobhistory.js';
import type { ITrouble } from '../api/jobmodel.js';
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

/**
 * Keep the focus in a view: where what has it is taken away, or cannot be used for a while, keys would go to nobody. A
 * repair of somebody's own, in a layout effect, goes first.
 */
export function useKeptFocus(box: React.RefObject<HTMLElement>): void {
  React.useEffect(() => {
    const view = box.current;
    if (!view) {
      return;
    }
    let at: HTMLElement | null = null;
    const forget = () => {
      at = null;
      observer.disconnect();
    };
    const observer = new MutationObserver(changes => {
      const isLost = document.activeElement === document.body;
      if (!view.contains(at)) {
        const gap = changes.filter(({ removedNodes }) => [...removedNodes].some(node => node.contains(at))).at(-1);
        forget();
        if (isLost && gap) {
          beside(gap, view).focus({ preventScroll: true });
        }
      } else if (isLost && !at?.matches(':disabled')) {
        at?.focus({ preventScroll: true });
      }
    });
    const come = (event: FocusEvent) => {
      at = event.target as HTMLElement;
      observer.observe(view, { childList: true, subtree: true, attributeFilter: ['disabled'] });
    };
    // Not every browser tells that what is taken away loses the focus, and those that do tell it while one draws.
    const leave = () =>
      queueMicrotask(() => {
        if (at !== document.activeElement && at?.isConnected && !at.matches(':disabled')) {
          forget();
        }
      });
    view.addEventListener('focusin', come);
    view.addEventListener('focusout', leave);
    return () => {
      view.removeEventListener('focusin', come);
      view.removeEventListener('focusout', leave);
      forget();
    };
  }, []);
}

const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex]';

/** Where one goes on from what was taken out of a view: the next control of the row, or the one before; else of the part around. */
function beside({ target, previousSibling }: MutationRecord, view: HTMLElement): HTMLElement {
  const before = previousSibling?.isConnected ? previousSibling : null;
  const isNext = (node: Node) =>
    ((before ?? target).compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 &&
    !before?.contains(node);
  for (let part = target as HTMLElement | null; view.contains(part); part = part?.parentElement ?? null) {
    const all = [...(part?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])].filter(
      node => node.tabIndex >= 0 && !node.matches(':disabled') && node.checkVisibility()
    );
    const found = all.find(isNext) ?? all.at(-1);
    if (found) {
      return found;
    }
  }
  view.tabIndex = -1;
  return view;
}
