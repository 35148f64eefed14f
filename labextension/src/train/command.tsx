/**
 * The entry point: a file of the folder, or a command.
 */

import * as React from 'react';

import { quoted } from '../ui/shell.js';
import { withField } from './draft.js';
import { Field } from './field.js';
import type { ISectionProps } from './section.js';
import { errorAt, setField, textAt } from './section.js';

const EXAMPLE = 'python train.py $PAI_USER_ARGS';

const COMMAND = '';

export function EntryPointSection(props: ISectionProps): React.JSX.Element {
  const { form, trans } = props;
  const [command, entry] = [textAt(props, 'command'), textAt(props, 'entry_point')];
  const [isWriting, setWriting] = React.useState(false);
  const isCommand = isWriting || command !== '' || entry === '';
  const entries = [...new Set([...(entry ? [entry] : []), ...(form.initial?.entries ?? [])])];
  const choose = (value: string) => {
    setWriting(value === COMMAND);
    if (value === COMMAND) {
      setField(props, 'command', entry.endsWith('.py') ? `python ${quoted(entry)} $PAI_USER_ARGS` : command);
    } else {
      form.change(withEntry(props, value));
    }
  };
  return (
    <>
      <Field label={trans.__('Run')} error={errorAt(props, 'entry_point')}>
        {control => (
          <select
            {...control}
            className="jp-pai-Input"
            value={isCommand ? COMMAND : entry}
            onChange={event => choose(event.target.value)}
          >
            {entries.map(path => (
              <option key={path}>{path}</option>
            ))}
            <option value={COMMAND}>{trans.__('Command…')}</option>
          </select>
        )}
      </Field>
      {isCommand && (
        <Field
          label={trans.__('Command')}
          error={errorAt(props, 'command')}
          hint={trans.__('Run by a shell in the folder. $PAI_USER_ARGS expands to the hyperparameters.')}
        >
          {control => (
            <textarea
              {...control}
              className="jp-pai-Input jp-pai-Train-code"
              rows={Math.min(Math.max(command.split('\n').length, 2), 8)}
              spellCheck={false}
              placeholder={EXAMPLE}
              value={command}
              onChange={event => setField(props, 'command', event.target.value)}
            />
          )}
        </Field>
      )}
    </>
  );
}

function withEntry({ draft }: ISectionProps, entry: string): ISectionProps['draft'] {
  return withField(withField(draft, 'command', ''), 'entry_point', entry);
}
