/**
 * Search in the whole log.
 */

import * as React from 'react';

import type { ILogHit, ILogQuery } from './pager.js';
import type { LogSession } from './session.js';

// Number of lines shown above a line that was searched for.
export const ABOVE = 5;

export interface ISearch {
  readonly look: (query: ILogQuery | null, step: -1 | 0 | 1) => Promise<ILogHit | null>;
  readonly hit: ILogHit | null;
  readonly trouble: string;
}

/** Return the search state of a log. A new search aborts the previous one. */
export function useSearch(session: LogSession): ISearch {
  const [hit, setHit] = React.useState<ILogHit | null>(null);
  const [trouble, setTrouble] = React.useState('');
  const life = React.useRef(new AbortController());
  React.useEffect(() => () => life.current.abort(), [session]);
  const look = async (query: ILogQuery | null, step: -1 | 0 | 1) => {
    life.current.abort();
    const { signal } = (life.current = new AbortController());
    setTrouble('');
    if (!query) {
      setHit(null);
      session.terminal?.mark(null);
      return null;
    }
    // Continue from the current match; a new search starts at the top visible line.
    const from = query.errors ? 0 : step === 0 || hit?.line == null ? session.seen.from : hit.line + (step > 0 ? 1 : 0);
    const found = (next: ILogHit | null) => {
      if (!query.errors) {
        setHit(next);
      }
      return next?.line == null ? undefined : session.go(next.line, ABOVE, true);
    };
    try {
      let next = await session.pager.search(query, from, step < 0, signal);
      await found(next);
      // The server searches a long log in several steps.
      while (next && !next.isComplete) {
        const isShown = next.line !== null;
        next = await session.pager.search(query, from, step < 0, signal);
        if (next && isShown && !query.errors) {
          setHit(next);
        } else if (!isShown) {
          await found(next);
        }
      }
      return next;
    } catch (error) {
      if (!signal.aborted) {
        setTrouble(error instanceof Error ? error.message : String(error));
      }
      return null;
    }
  };
  return { look, hit, trouble };
}
