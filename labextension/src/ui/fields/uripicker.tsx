/**
 * A combobox for a storage URI or a path, with completion one folder at a time.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine, IErrorMessage } from '../../api/engine.js';
import { EngineError, errorMessageOf } from '../../api/engine.js';
import { Combobox, stepOf, stepped } from './combobox.js';
import type { IOption } from './uricompletion.js';
import { commonPrefix, folderCompletions, modelCompletions, rootCompletions } from './uricompletion.js';

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
  readonly error?: string;
  /** True if the URI may not exist yet, as for outputs. */
  readonly isNew?: boolean;
  readonly placeholder?: string;
}

// Milliseconds after the last keystroke.
const PAUSE = 200;

interface ICompletions {
  /** The text the options complete. */
  readonly text: string;
  readonly options: readonly IOption[];
  readonly error: IErrorMessage | null;
}

/** Fetch completions after the user pauses; null until they are loaded. */
function useCompletions(props: IUriProps, isEnabled: boolean): ICompletions | null {
  const { engine, value, profile, home = '', isNew = false } = props;
  const [completions, setCompletions] = React.useState<ICompletions | null>(null);
  React.useEffect(() => {
    if (!isEnabled) {
      return;
    }
    let isStale = false;
    // Results are shown as they arrive: a slow account does not delay the folder.
    const add = (options: readonly IOption[], error: IErrorMessage | null) => {
      if (!isStale) {
        setCompletions(old =>
          old?.text === value
            ? { text: value, options: [...old.options, ...options], error: error ?? old.error }
            : { text: value, options, error }
        );
      }
    };
    const timer = setTimeout(() => {
      const call: IEngine['call'] = (verb, parameters) => engine.call(verb, parameters);
      setCompletions(null);
      folderCompletions(call, value, home, profile).then(
        options => add(options, null),
        (error: unknown) => {
          // A job may read storages that this server cannot list, and write to folders that do not exist yet.
          const ignored = isNew ? ['Unsupported', 'NotFound'] : ['Unsupported'];
          add([], error instanceof EngineError && ignored.includes(error.code) ? null : errorMessageOf(error));
        }
      );
      for (const completions of [rootCompletions, ...(isNew ? [] : [modelCompletions])]) {
        completions(call, value, profile).then(
          options => add(options, null),
          () => undefined // Completions are optional.
        );
      }
    }, PAUSE);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [engine, value, profile, home, isNew, isEnabled]);
  return completions?.text === value ? completions : null;
}

interface ICombobox {
  readonly options: readonly IOption[];
  /** The index of the active option; -1 for the field itself. */
  readonly current: number;
  /** The error of a failed lookup, which does not make the typed text invalid. */
  readonly error: string;
  readonly type: (text: string) => void;
  readonly choose: (option: IOption) => void;
  readonly close: () => void;
  readonly onKeyDown: (event: React.KeyboardEvent) => void;
}

/** Return the state of the list of options. Nothing is fetched before the first keystroke. */
function useCombobox(props: IUriProps): ICombobox {
  const { value, onChange } = props;
  const [isOpen, setOpen] = React.useState(false);
  const [current, setCurrent] = React.useState(-1);
  const [isUsed, setUsed] = React.useState(false);
  const completions = useCompletions(props, isUsed);
  const options = isOpen ? (completions?.options ?? []) : [];
  const active = options[current];
  const close = () => {
    setOpen(false);
    setCurrent(-1);
  };
  const open = () => {
    setUsed(true);
    setOpen(true);
  };
  const type = (text: string) => {
    open();
    setCurrent(-1);
    onChange(text);
  };
  const complete = (text: string, isMore: boolean) => {
    onChange(text);
    setCurrent(-1);
    setOpen(isMore);
  };
  const choose = ({ text, isFolder }: IOption) => complete(text, isFolder);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) {
      return;
    }
    const step = stepOf(event);
    const prefix = commonPrefix(options);
    if (step) {
      open();
      setCurrent(stepped(current, step, options));
    } else if ((event.key === 'Enter' || event.key === 'Tab') && active && !event.shiftKey) {
      choose(active);
    } else if (event.key === 'Tab' && !event.shiftKey && prefix.length > value.length) {
      complete(prefix, true);
    } else if (event.key === 'Escape' && options.length) {
      close();
      event.stopPropagation();
    } else {
      return;
    }
    event.preventDefault();
  };
  const error = [completions?.error?.message, completions?.error?.fix].filter(Boolean).join(' ');
  return { options, current, error, type, choose, close, onKeyDown };
}

export function UriPicker(props: IUriProps): React.JSX.Element {
  const { trans, label, value, error = '', placeholder } = props;
  const id = React.useId();
  const { options, current, type, choose, close, onKeyDown, error: lookupError } = useCombobox(props);
  const message = error || lookupError;
  return (
    <Combobox
      trans={trans}
      id={id}
      options={options}
      current={current}
      choose={choose}
      control={{
        'aria-label': label,
        'aria-invalid': error !== '',
        'aria-describedby': message ? `${id}-error` : undefined,
        placeholder,
        value,
        onChange: event => type(event.target.value),
        onKeyDown,
        onBlur: close
      }}
    >
      {message && (
        <span
          className={error ? 'jp-pai-Trouble' : 'jp-pai-Fields-note'}
          role={error ? 'alert' : 'status'}
          id={`${id}-error`}
        >
          {message}
        </span>
      )}
    </Combobox>
  );
}
