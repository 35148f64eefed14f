/**
 * Rules for uploaded files: excluded, included, and allowed despite secrets.
 */

import * as React from 'react';

import { strings } from '../api/wire.js';
import type { Rules } from './draft.js';
import { field, withRule } from './draft.js';
import { Fold } from './field.js';
import type { IPart } from './part.js';
import { faultsOf, isWrong } from './part.js';

interface IChips extends IPart {
  readonly path: Rules;
  /** The title; the button and the input that add a rule; labels of the button that removes one. */
  readonly title: string;
  readonly give: string;
  readonly about: string;
  readonly back: string;
  readonly backOf: (rule: string) => string;
  readonly example: string;
}

/** A list of rules that can be added and removed. */
export function Chips(props: IChips): React.JSX.Element {
  const { desk, draft, path, title, give, about, back, backOf, example } = props;
  const [text, setText] = React.useState('');
  const id = React.useId();
  const rules = strings(field(draft, path));
  const fault = faultsOf(props, path);
  const add = () => {
    const rule = text.trim();
    if (rule) {
      desk.change(withRule(draft, rule, true, path));
      setText('');
    }
  };
  return (
    <div className="jp-pai-Train-exclude">
      {rules.length > 0 && (
        <ul className="jp-pai-Chips" aria-label={title}>
          {rules.map(rule => (
            <li key={rule}>
              {rule}
              <button
                type="button"
                title={back}
                aria-label={backOf(rule)}
                onClick={() => desk.change(withRule(draft, rule, false, path))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="jp-pai-Train-line">
        <input
          className="jp-pai-Input"
          aria-label={about}
          placeholder={example}
          aria-invalid={fault !== ''}
          aria-describedby={fault ? id : undefined}
          spellCheck={false}
          value={text}
          onChange={event => setText(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
              event.preventDefault();
              add();
            }
          }}
        />
        <button type="button" className="jp-pai-Button" disabled={!text.trim()} onClick={add}>
          {give}
        </button>
      </div>
      {fault && (
        <span className="jp-pai-Trouble" id={id}>
          {fault}
        </span>
      )}
    </div>
  );
}

/** Include rules, and files allowed despite secrets. */
export function MoreRules(props: IPart): React.JSX.Element {
  const { draft, trans } = props;
  const [only, allowed] = [strings(field(draft, 'source.include')), strings(field(draft, 'source.allow_secret'))];
  const common = { back: trans.__('Remove'), backOf: (rule: string) => trans.__('Remove %1', rule) };
  return (
    <Fold
      title={trans.__('More rules')}
      said={[...only, ...allowed].join(', ')}
      isWrong={isWrong(props, ['source.include', 'source.allow_secret'])}
    >
      <p className="jp-pai-Train-hint">
        {trans.__('If set, only files that match one of these patterns are uploaded')}
      </p>
      <Chips
        {...props}
        {...common}
        path="source.include"
        title={trans.__('Include only matching files')}
        about={trans.__('Include pattern')}
        give={trans.__('Include')}
        example="*.py, conf/"
      />
      <p className="jp-pai-Train-hint">{trans.__('Files allowed despite detected secrets')}</p>
      <Chips
        {...props}
        {...common}
        path="source.allow_secret"
        title={trans.__('Allowed files')}
        about={trans.__('File to allow')}
        give={trans.__('Send anyway')}
        example="conf/settings.ini"
      />
    </Fold>
  );
}
