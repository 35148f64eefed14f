/**
 * A combobox for a field that is picked from a list of the platform. The list is loaded when the field gets the focus.
 * Any text can be typed, also if the platform does not respond.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { errorText } from '../../api/engine.js';
import { useClock } from '../context.js';
import { plural } from '../format.js';
import type { ChoiceSource, IChoiceList } from './choices.js';
import { ageText, matchingChoices } from './choices.js';
import { Combobox, stepOf, stepped } from './combobox.js';

interface IProps {
  /** The source of the lists; null for a profile that is not saved yet. */
  readonly source: ChoiceSource | null;
  /** The name of the list. */
  readonly list: string;
  /** The title of the field. */
  readonly title: string;
  readonly trans: TranslationBundle;
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** Further attributes of the field, with its id. */
  readonly control: React.InputHTMLAttributes<HTMLInputElement> & { readonly id: string };
}

interface ILoadedList {
  readonly list: IChoiceList | null;
  readonly isLoading: boolean;
  readonly load: (isRefresh: boolean) => void;
}

/** Load a list on request. A failed request keeps the last list. */
function useChoices(source: ChoiceSource | null, name: string): ILoadedList {
  const [list, setList] = React.useState<IChoiceList | null>(null);
  const [isLoading, setLoading] = React.useState(false);
  const current = React.useRef(source);
  React.useEffect(() => {
    current.current = source;
    setList(null); // The list of another profile.
    setLoading(false);
  }, [source, name]);
  const load = (isRefresh: boolean) => {
    if (!source || isLoading || (list && !isRefresh)) {
      return;
    }
    setLoading(true);
    source(name, isRefresh)
      .catch((error: unknown) => {
        const last = list ?? { choices: [], time: null, hiddenCount: 0 };
        return { ...last, problem: errorText(error) };
      })
      .then(result => {
        if (current.current === source) {
          setList(result);
          setLoading(false);
        }
      })
      .catch(() => undefined);
  };
  return { list, isLoading, load };
}

export function ChoicePicker(props: IProps): React.JSX.Element {
  const { source, trans, value, onChange, control } = props;
  const { list, isLoading, load } = useChoices(source, props.list);
  const [isOpen, setOpen] = React.useState(false);
  const [current, setCurrent] = React.useState(-1);
  const options = isOpen && list ? matchingChoices(list.choices, value) : [];
  const active = options[current];
  const close = () => {
    setOpen(false);
    setCurrent(-1);
  };
  const type = (text: string, isStillOpen: boolean) => {
    onChange(text);
    setOpen(isStillOpen);
    setCurrent(-1);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = stepOf(event);
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) {
      return;
    }
    if (step) {
      setOpen(true);
      setCurrent(stepped(current, step, options));
    } else if (event.key === 'Enter' && active) {
      type(active.text, false);
    } else if (event.key === 'Escape' && options.length) {
      close();
      event.stopPropagation();
    } else {
      return;
    }
    event.preventDefault();
  };
  const status = `${control.id}-list-status`;
  return (
    <Combobox
      trans={trans}
      id={`${control.id}-list`}
      options={options}
      current={current}
      choose={option => type(option.text, false)}
      control={{
        ...control,
        'aria-describedby': [control['aria-describedby'], status].filter(Boolean).join(' '),
        value,
        onChange: event => type(event.target.value, true),
        onFocus: () => load(false),
        onMouseDown: () => setOpen(!isOpen),
        onBlur: close,
        onKeyDown
      }}
    >
      <p className="jp-pai-Fields-note jp-pai-Combobox-status">
        <span id={status} role="status">
          {isLoading ? trans.__('Loading…') : list && listText(list, trans)}
          {!source && isOpen && trans.__('Save the profile to list the values.')}
        </span>{' '}
        {list?.time && <Age time={list.time} trans={trans} />}{' '}
        {list && (
          <button
            type="button"
            className="jp-pai-Link"
            aria-label={trans.__('Refresh the list: %1', props.title)}
            disabled={isLoading}
            onClick={() => load(true)}
          >
            {trans.__('Refresh')}
          </button>
        )}
      </p>
    </Combobox>
  );
}

/** The age of a list. It is outside of the live element, which would announce each minute. */
function Age({ time, trans }: { readonly time: number; readonly trans: TranslationBundle }): React.JSX.Element {
  const now = useClock(true);
  return <span className="jp-pai-Combobox-age">{ageText(now - time, trans)}</span>;
}

/** Return the number of values, or the reason that the list is missing or old. */
function listText({ choices, time, hiddenCount, problem }: IChoiceList, trans: TranslationBundle): string {
  const n = choices.length;
  const count = plural(n, trans.__('%1 value', n), trans.__('%1 values', n));
  const hidden = hiddenCount ? `${trans.__('Hidden by the administrator: %1', hiddenCount)}, ` : '';
  if (problem) {
    return time === null
      ? trans.__('The list is not available: %1 You can type a value.', problem)
      : trans.__('The list is not current: %1 Last list: %2,', problem, count);
  }
  return `${hidden}${count},`;
}
