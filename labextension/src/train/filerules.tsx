/**
 * Rules for uploaded files: excluded, included, and allowed despite secrets.
 */

import * as React from 'react';

import { strings } from '../api/wire.js';
import type { Rules } from './draft.js';
import { field, withRule } from './draft.js';
import { CollapsibleSection } from './field.js';
import type { ISectionProps } from './section.js';
import { errorsIn, hasError } from './section.js';
import { MessageText } from '../ui/messagetext.js';

interface IRuleListProps extends ISectionProps {
  readonly path: Rules;
  /** The title; the button and the input that add a rule; labels of the button that removes one. */
  readonly title: string;
  readonly addLabel: string;
  readonly inputLabel: string;
  readonly removeTitle: string;
  readonly removeLabel: (rule: string) => string;
  readonly example: string;
}

/** A list of rules that can be added and removed. */
export function RuleList(props: IRuleListProps): React.JSX.Element {
  const { form, draft, path, title, addLabel, inputLabel, removeTitle, removeLabel, example } = props;
  const [text, setText] = React.useState('');
  const id = React.useId();
  const rules = strings(field(draft, path));
  const error = errorsIn(props, path);
  const add = () => {
    const rule = text.trim();
    if (rule) {
      form.change(withRule(draft, rule, true, path));
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
                title={removeTitle}
                aria-label={removeLabel(rule)}
                onClick={() => form.change(withRule(draft, rule, false, path))}
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
          aria-label={inputLabel}
          placeholder={example}
          aria-invalid={error !== ''}
          aria-describedby={error ? id : undefined}
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
          {addLabel}
        </button>
      </div>
      {error && (
        <span className="jp-pai-Trouble" id={id}>
          <MessageText text={error} />
        </span>
      )}
    </div>
  );
}

/** Include rules, and files allowed despite secrets. */
export function MoreRules(props: ISectionProps): React.JSX.Element {
  const { draft, trans } = props;
  const [included, allowed] = [strings(field(draft, 'source.include')), strings(field(draft, 'source.allow_secret'))];
  const common = { removeTitle: trans.__('Remove'), removeLabel: (rule: string) => trans.__('Remove %1', rule) };
  return (
    <CollapsibleSection
      title={trans.__('More rules')}
      summary={[...included, ...allowed].join(', ')}
      hasError={hasError(props, ['source.include', 'source.allow_secret'])}
    >
      <p className="jp-pai-Train-hint">
        {trans.__('If set, only files that match one of these patterns are uploaded')}
      </p>
      <RuleList
        {...props}
        {...common}
        path="source.include"
        title={trans.__('Include only matching files')}
        inputLabel={trans.__('Include pattern')}
        addLabel={trans.__('Include')}
        example="*.py, conf/"
      />
      <p className="jp-pai-Train-hint">{trans.__('Files allowed despite detected secrets')}</p>
      <RuleList
        {...props}
        {...common}
        path="source.allow_secret"
        title={trans.__('Allowed files')}
        inputLabel={trans.__('File to allow')}
        addLabel={trans.__('Send anyway')}
        example="conf/settings.ini"
      />
    </CollapsibleSection>
  );
}
