/**
 * Hooks for calling the engine from components, and for keyboard focus in the root of a view.
 */

import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import { errorMessageOf } from '../api/engine.js';
import type { IEvent } from '../api/jobhistory.js';
import { eventsKey, mergeEvents, parseEvents } from '../api/jobhistory.js';
import type { ITabProps } from './context.js';

/** An action started by the user. While `isBusy`, starting it again has no effect. */
export interface ITask {
  readonly isBusy: boolean;
  readonly error: IErrorMessage | null;
  run(work: () => Promise<void>): void;
}

export function useTask(): ITask {
  const [isBusy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<IErrorMessage | null>(null);
  const running = React.useRef(false);
  const run = (work: () => Promise<void>) => {
    if (running.current) {
      return;
    }
    running.current = true;
    setBusy(true);
    setError(null);
    void work()
      .catch((error: unknown) => setError(errorMessageOf(error)))
      .finally(() => {
        running.current = false;
        setBusy(false);
      });
  };
  return { isBusy, error, run };
}

/** Fetch a value whenever `key` changes while `isOn`; null until it is loaded. */
export function useQuery<T>(fetch: () => Promise<T>, key: string, isOn: boolean): [T | null, IErrorMessage | null] {
  const [value, setValue] = React.useState<T | null>(null);
  const [error, setError] = React.useState<IErrorMessage | null>(null);
  React.useEffect(() => {
    if (!isOn) {
      return;
    }
    let isStale = false;
    fetch().then(
      value => {
        if (!isStale) {
          setValue(value);
          setError(null);
        }
      },
      (error: unknown) => {
        if (!isStale) {
          setError(errorMessageOf(error));
        }
      }
    );
    return () => {
      isStale = true;
    };
  }, [key, isOn]);
  return [value, error];
}

/** Return the events of a job, oldest first. New ones are fetched when the job has changed. */
export function useEvents({ engine, model, isVisible }: ITabProps): [readonly IEvent[], IErrorMessage | null] {
  const known = React.useRef<readonly IEvent[]>([]);
  const fetch = async () => {
    for (;;) {
      const after = known.current.at(-1)?.id ?? 0;
      const page = parseEvents(await engine.call('events', { job: model.jobId, after }));
      const newEvents = page.filter(event => event.id > (known.current.at(-1)?.id ?? 0));
      if (!newEvents.length) {
        return known.current;
      }
      known.current = mergeEvents(known.current, newEvents);
    }
  };
  const [events, error] = useQuery(fetch, model.job ? eventsKey(model.job) : '', isVisible && model.job !== null);
  return [events ?? [], error];
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
    let focused: HTMLElement | null = null;
    const reset = () => {
      focused = null;
      observer.disconnect();
    };
    const observer = new MutationObserver(changes => {
      const isLost = document.activeElement === document.body;
      if (!view.contains(focused)) {
        const removal = changes
          .filter(({ removedNodes }) => [...removedNodes].some(node => node.contains(focused)))
          .at(-1);
        reset();
        if (isLost && removal) {
          controlNear(removal, view).focus({ preventScroll: true });
        }
      } else if (isLost && !focused?.matches(':disabled')) {
        focused?.focus({ preventScroll: true });
      }
    });
    const onFocusIn = (event: FocusEvent) => {
      focused = event.target as HTMLElement;
      observer.observe(view, { childList: true, subtree: true, attributeFilter: ['disabled'] });
    };
    // Browsers differ in whether and when they report that a removed element lost the focus.
    const onFocusOut = () =>
      queueMicrotask(() => {
        if (focused !== document.activeElement && focused?.isConnected && !focused.matches(':disabled')) {
          reset();
        }
      });
    view.addEventListener('focusin', onFocusIn);
    view.addEventListener('focusout', onFocusOut);
    return () => {
      view.removeEventListener('focusin', onFocusIn);
      view.removeEventListener('focusout', onFocusOut);
      reset();
    };
  }, []);
}

const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex]';

/**
 * Return the control to focus after a removal: the next one in the same parent, else the last one, else those of its
 * ancestors.
 */
function controlNear({ target, previousSibling }: MutationRecord, view: HTMLElement): HTMLElement {
  const before = previousSibling?.isConnected ? previousSibling : null;
  const isNext = (node: Node) =>
    ((before ?? target).compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 &&
    !before?.contains(node);
  for (
    let ancestor = target as HTMLElement | null;
    view.contains(ancestor);
    ancestor = ancestor?.parentElement ?? null
  ) {
    const controls = [...(ancestor?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])].filter(
      node => node.tabIndex >= 0 && !node.matches(':disabled') && node.checkVisibility()
    );
    const control = controls.find(isNext) ?? controls.at(-1);
    if (control) {
      return control;
    }
  }
  view.tabIndex = -1;
  return view;
}
