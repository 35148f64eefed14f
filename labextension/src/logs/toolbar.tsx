/**
 * Toolbar of a log: search, go to line, instance, copy and download.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { count, plural } from '../ui/format.js';
import type { ILogHit, ILogQuery } from './pager.js';

interface ISearchProps {
  readonly trans: TranslationBundle;
  /**
   * Run a search. `step` is 0 for the first match from the visible lines, 1 for the next and -1 for the previous match.
   */
  readonly search: (query: ILogQuery | null, step: -1 | 0 | 1) => void;
  readonly hit: ILogHit | null;
  readonly trouble: string;
  readonly field: React.RefObject<HTMLInputElement>;
  readonly close: () => void;
}

const PAUSE = 250;

export function LogSearch({ trans, search, hit, trouble, field, close }: ISearchProps): React.JSX.Element {
  const [query, setQuery] = React.useState<ILogQuery>({ text: '', regex: false, case: false });
  const sought = React.useRef(search);
  sought.current = search;
  React.useEffect(() => {
    // Search after a pause in typing.
    const timer = setTimeout(() => sought.current(query.text ? query : null, 0), PAUSE);
    return () => clearTimeout(timer);
  }, [query]);
  const press = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' && query.text) {
      event.preventDefault();
      search(query, event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      event.preventDefault(); // Escape would otherwise return to the notebook.
      setQuery({ ...query, text: '' });
      close();
    }
  };
  const toggle = (name: 'case' | 'regex', title: string, sign: string) => (
    <button
      type="button"
      aria-pressed={query[name]}
      title={title}
      aria-label={title}
      onClick={() => setQuery({ ...query, [name]: !query[name] })}
    >
      {sign}
    </button>
  );
  const step = (by: -1 | 1, title: string, sign: string) => (
    <button type="button" title={title} aria-label={title} disabled={!query.text} onClick={() => search(query, by)}>
      {sign}
    </button>
  );
  return (
    <div className="jp-pai-Log-search" role="search" aria-label={trans.__('Search the log')}>
      <input
        ref={field}
        type="text"
        value={query.text}
        maxLength={1000}
        spellCheck={false}
        placeholder={trans.__('Search')}
        aria-label={trans.__('Search the log')}
        onChange={event => setQuery({ ...query, text: event.target.value })}
        onKeyDown={press}
      />
      {toggle('case', trans.__('Match case'), 'Aa')}
      {toggle('regex', trans.__('Regular expression'), '.*')}
      {step(-1, trans.__('Previous match'), '↑')}
      {step(1, trans.__('Next match'), '↓')}
      <span className="jp-pai-Log-hits" role="status">
        {trouble || (query.text && hit && counted(hit, trans))}
      </span>
    </div>
  );
}

function counted(hit: ILogHit, trans: TranslationBundle): string {
  const total = count(hit.total) + (hit.isComplete ? '' : '+');
  return hit.line === null
    ? hit.isComplete && !hit.total
      ? trans.__('No results')
      : plural(hit.total, trans.__('%1 line', total), trans.__('%1 lines', total))
    : trans.__('%1 of %2 lines', count(hit.place), total);
}

interface IGotoProps {
  readonly trans: TranslationBundle;
  readonly go: (words: string) => void;
}

/** A field for a line number or a time. */
export function Goto({ trans, go }: IGotoProps): React.JSX.Element {
  const [words, setWords] = React.useState('');
  return (
    <input
      className="jp-pai-Log-goto"
      type="text"
      value={words}
      placeholder={trans.__('Go to line or time')}
      title={trans.__('Enter a line number, or a time such as 14:03 or 14:03:20')}
      aria-label={trans.__('Go to line or time')}
      onChange={event => setWords(event.target.value)}
      onKeyDown={event => {
        if (event.key === 'Enter') {
          event.preventDefault();
          go(words);
        }
      }}
    />
  );
}

interface IInstanceProps {
  readonly trans: TranslationBundle;
  readonly instances: readonly string[];
  readonly chosen: string | null;
  readonly choose: (instance: string | null) => void;
}

/** The choice of an instance; nothing if there is only one. */
export function InstanceChoice({ trans, instances, chosen, choose }: IInstanceProps): React.JSX.Element | null {
  if (instances.length < 2) {
    return null;
  }
  return (
    <select
      value={chosen ?? ''}
      aria-label={trans.__('Instance')}
      onChange={event => choose(event.target.value || null)}
    >
      <option value="">{trans.__('All instances, by time')}</option>
      {instances.map(name => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
