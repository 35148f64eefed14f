/**
 * Search in the whole log.
 */

import * as React from 'react';

import { errorText } from '../api/engine.js';
import type { ILogMatch, ILogQuery } from './pager.js';
import type { LogSession } from './session.js';

// Number of lines shown above a line that was searched for.
export const LINES_ABOVE = 5;

export interface ISearch {
  readonly search: (query: ILogQuery | null, step: -1 | 0 | 1) => Promise<ILogMatch | null>;
  readonly match: ILogMatch | null;
  readonly error: string;
}

/** Return the search state of a log. A new search aborts the previous one. */
export function useSearch(session: LogSession): ISearch {
  const [match, setMatch] = React.useState<ILogMatch | null>(null);
  const [error, setError] = React.useState('');
  const controller = React.useRef(new AbortController());
  React.useEffect(() => () => controller.current.abort(), [session]);
  const search = async (query: ILogQuery | null, step: -1 | 0 | 1) => {
    controller.current.abort();
    const { signal } = (controller.current = new AbortController());
    setError('');
    if (!query) {
      setMatch(null);
      session.terminal?.mark(null);
      return null;
    }
    // Continue from the current match; a new search starts at the top visible line.
    const from = query.errors
      ? 0
      : step === 0 || match?.line == null
        ? session.visible.from
        : match.line + (step > 0 ? 1 : 0);
    const showMatch = (result: ILogMatch | null) => {
      if (!query.errors) {
        setMatch(result);
      }
      return result?.line == null ? undefined : session.goToLine(result.line, LINES_ABOVE, true);
    };
    try {
      let result = await session.pager.search(query, from, step < 0, signal);
      await showMatch(result);
      // The server searches a long log in several steps.
      while (result && !result.isComplete) {
        const isShown = result.line !== null;
        result = await session.pager.search(query, from, step < 0, signal);
        if (result && isShown && !query.errors) {
          setMatch(result);
        } else if (!isShown) {
          await showMatch(result);
        }
      }
      return result;
    } catch (error) {
      if (!signal.aborted) {
        setError(errorText(error));
      }
      return null;
    }
  };
  return { search, match, error };
}
