/**
 * Hooks for calling the engine from components, and for keyboard focus in the root of a view.
 */

import * as React from 'react';

import { EngineError } from '../api/engine.js';
import type { IEvent } from '../api/jobhistory.js';
import { eventKey, parseEvents } from '../api/jobhistory.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { ITabProps } from './context.js';

/** An action started by the user. While `isBusy`, starting it again has no effect. */
export interface ITask {
  readonly isBusy: boolean;
  readonly trouble: ITrouble | null;
  run(work: () => Promise<void>): void;
}

/** Return an error as a message with its fix. */
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

/** Fetch a value whenever `key` changes while `isOn`; null until it is loaded. */
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

/** Return the events of a job, oldest first. New ones are fetched when the job has changed. */
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
 * Keep the keyboard focus inside a view when the focused element is removed or disabled. Layout effects of components
 * that move the focus themselves run first.
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
    // Browsers differ in whether and when they report that a removed element lost the focus.
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

/**
 * Return the control to focus after a removal: the next one in the same parent, else the last one, else those of its
 * ancestors.
 */
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
