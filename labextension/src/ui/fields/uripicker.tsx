/**
 * A combobox for a storage URI or a path, with completion one folder at a time.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../../api/engine.js';
import { EngineError } from '../../api/engine.js';
import type { ITrouble } from '../../api/jobmodel.js';
import { plural } from '../format.js';
import { troubleOf } from '../hooks.js';
import type { IOption } from './uricompletion.js';
import { beginnings, common, inFolder } from './uricompletion.js';

export interface IUriProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  /** The accessible name. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (uri: string) => void;
  /** The profile whose account lists the storage. */
  readonly profile: string;
  /** Base folder of relative paths, absolute on the server; without it, relative paths are not completed. */
  readonly home?: string;
  /** The engine's error; empty if there is none. */
  readonly fault?: string;
  /** Whether the URI may not exist yet, as for outputs. */
  readonly isNew?: boolean;
  readonly placeholder?: string;
}

// Milliseconds after the last keystroke.
const PAUSE = 200;

interface IOffer {
  /** The text the options complete. */
  readonly text: string;
  readonly options: readonly IOption[];
  readonly trouble: ITrouble | null;
}

/** Fetch completions after the user pauses; null until they are loaded. */
function useOffer(props: IUriProps, isWanted: boolean): IOffer | null {
  const { engine, value, profile, home = '', isNew = false } = props;
  const [offer, setOffer] = React.useState<IOffer | null>(null);
  React.useEffect(() => {
    if (!isWanted) {
      return;
    }
    let isOver = false;
    // Results are shown as they arrive: a slow account does not delay the folder.
    const take = (options: readonly IOption[], trouble: ITrouble | null) => {
      if (!isOver) {
        setOffer(old =>
          old?.text === value
            ? { text: value, options: [...old.options, ...options], trouble: trouble ?? old.trouble }
            : { text: value, options, trouble }
        );
      }
    };
    const timer = setTimeout(() => {
      const ask: IEngine['call'] = (verb, asked) => engine.call(verb, asked);
      setOffer(null);
      inFolder(ask, value, home, profile).then(
        options => take(options, null),
        (error: unknown) => {
          // A job may read storages that this server cannot list, and write to folders that do not exist yet.
          const silent = isNew ? ['Unsupported', 'NotFound'] : ['Unsupported'];
          take([], error instanceof EngineError && silent.includes(error.code) ? null : troubleOf(error));
        }
      );
      beginnings(ask, value, profile).then(
        options => take(options, null),
        () => undefined // Completions are optional.
      );
    }, PAUSE);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [engine, value, profile, home, isNew, isWanted]);
  return offer?.text === value ? offer : null;
}

export function UriPicker(props: IUriProps): React.JSX.Element {
  const { trans, label, value, onChange, fault = '', placeholder } = props;
  const id = React.useId();
  // Nothing is fetched before the first keystroke.
  const [isOpen, setOpen] = React.useState(false);
  const [current, point] = React.useState(-1);
  const [isUsed, use] = React.useState(false);
  const offer = useOffer(props, isUsed);
  const options = isOpen ? (offer?.options ?? []) : [];
  const active = options[current];
  // A failed lookup does not make the typed text invalid.
  const said = fault || [offer?.trouble?.message, offer?.trouble?.fix].filter(Boolean).join(' ');
  const close = () => {
    setOpen(false);
    point(-1);
  };
  const open = () => {
    use(true);
    setOpen(true);
  };
  const put = (text: string, isMore: boolean) => {
    onChange(text);
    point(-1);
    setOpen(isMore);
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) {
      return;
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const begun = common(options);
    if (step && !event.altKey) {
      open();
      const count = options.length + 1; // The field itself counts as one stop.
      point(((current + 1 + step + count) % count) - 1);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && active && !event.shiftKey) {
      put(active.text, active.isFolder);
    } else if (event.key === 'Tab' && !event.shiftKey && begun.length > value.length) {
      put(begun, true);
    } else if (event.key === 'Escape' && options.length) {
      close();
      event.stopPropagation();
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div className="jp-pai-Uri" data-lm-suppress-shortcuts="true">
      <input
        className="jp-pai-Input"
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls={options.length ? `${id}-list` : undefined}
        aria-activedescendant={active ? `${id}-${current}` : undefined}
        aria-invalid={fault !== ''}
        aria-describedby={said ? `${id}-fault` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={value}
        onChange={event => {
          open();
          point(-1);
          onChange(event.target.value);
        }}
        onKeyDown={press}
        onBlur={close}
      />
      {options.length > 0 && (
        <ul role="listbox" id={`${id}-list`} aria-label={trans.__('Suggestions')} className="jp-pai-Uri-list">
          {options.map((one, n) => (
            <Option
              key={one.text}
              id={`${id}-${n}`}
              option={one}
              isActive={n === current}
              choose={() => put(one.text, one.isFolder)}
            />
          ))}
        </ul>
      )}
      <span className="jp-pai-Uri-count" role="status">
        {options.length > 0 &&
          plural(options.length, trans.__('%1 suggestion', options.length), trans.__('%1 suggestions', options.length))}
      </span>
      {said && (
        <span
          className={fault ? 'jp-pai-Trouble' : 'jp-pai-Fields-note'}
          role={fault ? 'alert' : 'status'}
          id={`${id}-fault`}
        >
          {said}
        </span>
      )}
    </div>
  );
}

interface IOptionProps {
  readonly id: string;
  readonly option: IOption;
  readonly isActive: boolean;
  readonly choose: () => void;
}

function Option({ id, option, isActive, choose }: IOptionProps): React.JSX.Element {
  const item = React.useRef<HTMLLIElement>(null);
  React.useEffect(() => {
    if (isActive) {
      item.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [isActive]);
  const take = (event: React.MouseEvent) => {
    event.preventDefault(); // The field keeps the focus.
    choose();
  };
  return (
    <li ref={item} id={id} role="option" aria-selected={isActive} title={option.text} onMouseDown={take}>
      {option.name}
    </li>
  );
}
