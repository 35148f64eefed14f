/**
 * Looking for something in the whole log, and going where it is.
 */

import * as React from 'react';

import type { ILogHit, ILogQuery } from './pager.js';
import type { LogSession } from './session.js';

// A line that was looked for has some lines above it.
export const ABOVE = 5;

export interface ISearch {
  readonly look: (query: ILogQuery | null, step: -1 | 0 | 1) => Promise<ILogHit | null>;
  readonly hit: ILogHit | null;
  readonly trouble: string;
}

/** Looking for something in a log: what was asked last counts. */
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
    // From the hit that is shown; the first one from the line at the top.
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
      // A long log takes more than one look.
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
