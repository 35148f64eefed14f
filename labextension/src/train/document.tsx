/**
 * The text that the platform would be sent: it follows the form, or is edited and sent as it is.
 */

import * as React from 'react';

import { string } from '../api/wire.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { plural } from '../ui/format.js';
import { draftOf, field } from './draft.js';
import { CollapsibleSection } from './field.js';
import type { IProblem } from './preview.js';
import type { ISectionProps } from './section.js';
import { documentOption, errorAt, setField, textAt } from './section.js';

/** Says that the document of the job decides on what other fields show; null if it follows the form. */
export function OwnDocumentHint(props: ISectionProps): React.JSX.Element | null {
  const option = documentOption(props);
  return option && textAt(props, option) ? (
    <p className="jp-pai-Train-hint">
      {props.trans.__(
        'The document of this job decides on commands, images, machines and roles. To change them, edit it below.'
      )}
    </p>
  ) : null;
}

export function DocumentSection(props: ISectionProps): React.JSX.Element | null {
  const { form, trans } = props;
  const id = React.useId();
  const [isEditing, setEditing] = React.useState(false);
  const input = React.useRef<HTMLTextAreaElement>(null);
  const option = documentOption(props);
  const own = option ? textAt(props, option) : '';
  const text = own || (form.preview?.document ?? '');
  if (!text) {
    return null;
  }
  const problems = own ? (form.preview?.problems ?? []) : [];
  const errors = problems.filter(problem => problem.isError).length;
  const error = option && !errors ? errorAt(props, option) : '';
  const initial = option && form.initial ? string(field(draftOf(form.initial.request), option)) : '';
  // Of the text that is shown, and not of one before it.
  const mended = own && form.preview?.document === own ? form.preview.mended : '';
  const change = (changed: string) => setField(props, option, changed);
  const edit = () => {
    setEditing(true);
    if (!own) {
      change(text);
    }
    requestAnimationFrame(() => input.current?.focus());
  };
  const show = (line: number) => {
    edit();
    requestAnimationFrame(() => selectLine(input.current, line));
  };
  const reset = () => {
    setEditing(false);
    change(initial);
  };
  const isOpen = isEditing || errors > 0 || error !== '';
  const title = trans.__('Text for the platform');
  const describedBy = problems.length || error ? id : undefined;
  const summary = errors
    ? plural(errors, trans.__('%1 error', errors), trans.__('%1 errors', errors))
    : own !== initial
      ? trans.__('edited')
      : trans.__('sent by the submit');
  return (
    <CollapsibleSection title={title} summary={summary} hasError={errors > 0 || error !== ''}>
      {isOpen ? (
        <textarea
          ref={input}
          className="jp-pai-Input jp-pai-Train-document"
          aria-label={title}
          aria-invalid={errors > 0 || error !== ''}
          aria-describedby={describedBy}
          rows={16}
          wrap="off"
          spellCheck={false}
          value={text}
          onChange={event => change(event.target.value)}
        />
      ) : (
        <pre className="jp-pai-Train-document" tabIndex={0} aria-label={title} aria-describedby={describedBy}>
          {text}
        </pre>
      )}
      <div id={id} role="status">
        <Problems {...props} problems={problems} show={option ? show : undefined} />
        <FieldError text={error} />
      </div>
      {option && (
        <div className="jp-pai-Actions">
          {mended && (
            <button type="button" className="jp-pai-Button" onClick={() => change(mended)}>
              {trans.__('Apply the fixes')}
            </button>
          )}
          {!isOpen && (
            <button type="button" className="jp-pai-Button" onClick={edit}>
              {trans.__('Edit the document')}
            </button>
          )}
          {own !== initial && (
            <button type="button" className="jp-pai-Button" onClick={reset}>
              {initial ? trans.__('Use the document of the file again') : trans.__('Use the generated document again')}
            </button>
          )}
        </div>
      )}
    </CollapsibleSection>
  );
}

interface IProblemsProps extends Pick<ISectionProps, 'trans'> {
  readonly problems: readonly IProblem[];
  /** Select a line; undefined if the text cannot be edited. */
  readonly show: ((line: number) => void) | undefined;
}

function Problems({ problems, show, trans }: IProblemsProps): React.JSX.Element | null {
  return problems.length ? (
    <ul className="jp-pai-Train-notes">
      {problems.map(({ line, path, text, fix, isError }) => (
        <li key={`${line} ${path} ${text}`} className={isError ? 'jp-pai-Trouble' : 'jp-pai-Train-doubt'}>
          {line > 0 && show ? (
            <button type="button" className="jp-pai-Link" onClick={() => show(line)}>
              {trans.__('Line %1', line)}
            </button>
          ) : (
            line > 0 && trans.__('Line %1', line)
          )}
          {line > 0 && ': '}
          {path && <code>{path}</code>}
          {path && ': '}
          {text} {fix}
        </li>
      ))}
    </ul>
  ) : null;
}

/** Select a line of a text, from 1, and scroll to it. */
function selectLine(input: HTMLTextAreaElement | null, line: number): void {
  if (!input) {
    return;
  }
  const lines = input.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((length, one) => length + one.length + 1, 0);
  input.focus();
  input.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
  input.scrollTop = (input.scrollHeight / lines.length) * Math.max(line - 4, 0);
}
