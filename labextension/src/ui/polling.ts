/**
 * A value that is fetched again and again while it is visible.
 */

import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import { errorMessageOf } from '../api/engine.js';

export interface IPolling<T> {
  /** The last value, kept after an error; null until it is loaded. */
  readonly value: T | null;
  /** The time of that value, in milliseconds since 1970. */
  readonly loadedAt: number;
  /** The error of the last poll. */
  readonly error: IErrorMessage | null;
  /** Fetch the value now; return whether that succeeded. */
  readonly poll: () => Promise<boolean>;
  /** Discard the results of polls during an action, since they may be outdated. */
  readonly hold: (isHeld: boolean) => void;
}

/**
 * Fetch a value repeatedly while `isOn`. Switched on again, it waits for the rest of the interval.
 *
 * @param intervalOf - returns the milliseconds between two polls, after a value.
 */
export function usePolling<T>(
  fetch: () => Promise<T>,
  isOn: boolean,
  intervalOf: (value: T | null) => number
): IPolling<T> {
  const [value, setValue] = React.useState<T | null>(null);
  const [loadedAt, setLoadedAt] = React.useState(0);
  const [error, setError] = React.useState<IErrorMessage | null>(null);
  const latest = React.useRef(fetch);
  latest.current = fetch;
  const version = React.useRef(0);
  const isHeld = React.useRef(false);
  const polledAt = React.useRef(0);
  const poll = React.useCallback(async () => {
    const current = ++version.current;
    let isOk = true;
    const isCurrent = () => current === version.current && !isHeld.current;
    polledAt.current = Date.now(); // Replaced at its end. Until then, a view that is shown again sends no second one.
    try {
      const fetched = await latest.current();
      if (isCurrent()) {
        setValue(fetched);
        setLoadedAt(Date.now());
        setError(null);
      }
    } catch (error) {
      isOk = false;
      if (isCurrent()) {
        setError(errorMessageOf(error));
      }
    }
    polledAt.current = Date.now();
    return isOk;
  }, []);
  const interval = intervalOf(value);
  React.useEffect(() => {
    if (!isOn) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const wait = () => {
      const rest = polledAt.current + interval - Date.now();
      timer = setTimeout(() => void poll().then(() => isStopped || wait()), Math.max(rest, 0));
    };
    wait();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [poll, isOn, interval]);
  const hold = (held: boolean) => {
    version.current += 1;
    isHeld.current = held;
  };
  return { value, loadedAt, error, poll, hold };
}
