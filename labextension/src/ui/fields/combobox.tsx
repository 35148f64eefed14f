/**
 * A text field with a list of suggestions. Its user keeps the state, since suggestions are completed in different ways.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { plural } from '../format.js';

export interface ISuggestion {
  /** The text that the field gets. */
  readonly text: string;
  /** The displayed text. */
  readonly name: string;
  readonly description?: string;
}

interface IProps<T extends ISuggestion> {
  readonly trans: TranslationBundle;
  /** Prefix of the ids of the list and of its options. */
  readonly id: string;
  /** The suggestions; empty while the list is closed. */
  readonly options: readonly T[];
  /** The index of the active option; -1 for the field itself. */
  readonly current: number;
  readonly choose: (option: T) => void;
  /** Attributes of the field. */
  readonly control: React.InputHTMLAttributes<HTMLInputElement>;
  /** The messages below the field. */
  readonly children?: React.ReactNode;
}

export function Combobox<T extends ISuggestion>(props: IProps<T>): React.JSX.Element {
  const { trans, id, options, current, choose, control, children } = props;
  return (
    <div className="jp-pai-Combobox" data-lm-suppress-shortcuts="true">
      <input
        {...control}
        className="jp-pai-Input"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls={options.length ? `${id}-list` : undefined}
        aria-activedescendant={options[current] ? `${id}-${current}` : undefined}
        autoComplete="off"
        spellCheck={false}
      />
      {options.length > 0 && (
        <ul role="listbox" id={`${id}-list`} aria-label={trans.__('Suggestions')} className="jp-pai-Combobox-list">
          {options.map((option, n) => (
            <Option
              key={option.text}
              id={`${id}-${n}`}
              option={option}
              isActive={n === current}
              choose={() => choose(option)}
            />
          ))}
        </ul>
      )}
      <span className="jp-pai-Combobox-count" role="status">
        {options.length > 0 &&
          plural(options.length, trans.__('%1 suggestion', options.length), trans.__('%1 suggestions', options.length))}
      </span>
      {children}
    </div>
  );
}

/** Return the step of an arrow key through the options and the field itself; 0 for other keys. */
export function stepOf(event: React.KeyboardEvent): number {
  return event.altKey ? 0 : event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
}

/** Return the index of the active option after a step; -1 is the field itself. */
export function stepped(current: number, step: number, options: readonly unknown[]): number {
  const stops = options.length + 1;
  return ((current + 1 + step + stops) % stops) - 1;
}

interface IOptionProps {
  readonly id: string;
  readonly option: ISuggestion;
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
  const onMouseDown = (event: React.MouseEvent) => {
    event.preventDefault(); // The field keeps the focus.
    choose();
  };
  return (
    <li ref={item} id={id} role="option" aria-selected={isActive} title={option.text} onMouseDown={onMouseDown}>
      {option.name}
      {option.description && <span className="jp-pai-Combobox-about"> {option.description}</span>}
    </li>
  );
}
