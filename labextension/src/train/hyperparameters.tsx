/**
 * Hyperparameters: a field for each one declared in the code, rows for others, and the arguments of a script.
 */

import * as React from 'react';

import { string } from '../api/wire.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { shellLine } from '../ui/shell.js';
import type { IDraftRow } from './draft.js';
import { field, otherRows, rowOf, takesValue, withRows, withValue } from './draft.js';
import type { IControl } from './field.js';
import { Field, Rows } from './field.js';
import type { IDeclaredHyperparameter } from './preview.js';
import type { ISectionProps } from './section.js';
import { errorAt, setField, warningsAbout } from './section.js';

const TRUE = /^(true|1|yes|on)$/i;

export function HyperparametersSection(props: ISectionProps): React.JSX.Element {
  const { form, draft, trans } = props;
  const rows = draft.tables.hyperparameters;
  const change = (changed: readonly IDraftRow[]) => form.change(withRows(draft, 'hyperparameters', changed));
  const declared = form.declared.filter(takesValue);
  const readOnly = form.declared.filter(parameter => !takesValue(parameter));
  const otherRowsShown = otherRows(rows, form.declared);
  const files = [...new Set(declared.map(parameter => parameter.file))].join(', ');
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Hyperparameters')}>
      <h3>{trans.__('Hyperparameters')}</h3>
      {declared.length > 0 && (
        <p className="jp-pai-Train-hint">{trans.__('Detected in %1. Only changed values are passed.', files)}</p>
      )}
      {form.preview && form.declared.length === 0 && (
        <p className="jp-pai-Train-hint">
          {string(field(draft, 'entry_point')).endsWith('.ipynb')
            ? trans.__('None detected. Define them in a cell tagged "parameters".')
            : trans.__('None detected in the code.')}
        </p>
      )}
      <FieldError text={errorAt(props, 'hyperparameters')} />
      {declared.map(parameter => (
        <Hyperparameter
          key={parameter.name}
          {...props}
          declared={parameter}
          row={rowOf(rows, parameter)}
          onChange={value => change(withValue(rows, parameter, value))}
        />
      ))}
      <Rows
        trans={trans}
        title={declared.length ? trans.__('Other hyperparameters') : trans.__('Hyperparameters')}
        addLabel={trans.__('Add hyperparameter')}
        rows={otherRowsShown}
        tableRows={rows}
        isTitleHidden
        onChange={change}
        errorOf={({ name }) => errorAt(props, `hyperparameters.${name}`)}
        warningOf={({ name }) => warningsAbout(props, name)}
      />
      <ArgumentsField {...props} readOnly={readOnly} />
    </section>
  );
}

/** The arguments of a script, as one line. `readOnly`: declared arguments that have no field of their own. */
function ArgumentsField(
  props: ISectionProps & { readonly readOnly: readonly IDeclaredHyperparameter[] }
): React.JSX.Element | null {
  const { form, draft, trans, readOnly } = props;
  const value = shellLine(field(draft, 'args'));
  const isNotebook = string(field(draft, 'entry_point')).endsWith('.ipynb') && !field(draft, 'command');
  if (isNotebook && !value) {
    return null;
  }
  const prefixes: Readonly<Record<string, string>> = { flag: '--', short: '-' };
  const names = readOnly.map(parameter => `${prefixes[parameter.form] ?? ''}${parameter.name}`).join(', ');
  const error = errorAt(props, 'args');
  return (
    <Field
      label={trans.__('Arguments')}
      error={error}
      warning={error ? '' : (form.preview?.refused.get('args') ?? '')}
      hint={
        names
          ? trans.__('Passed to the script unchanged. Declared: %1', names)
          : trans.__('Passed to the script unchanged.')
      }
    >
      {control => (
        <input
          {...control}
          className="jp-pai-Input jp-pai-Train-code"
          value={value}
          spellCheck={false}
          onChange={event => setField(props, 'args', event.target.value)}
        />
      )}
    </Field>
  );
}

interface IHyperparameter extends ISectionProps {
  readonly declared: IDeclaredHyperparameter;
  readonly row: IDraftRow | undefined;
  /** Null resets to the default of the code. */
  readonly onChange: (value: string | null) => void;
}

function Hyperparameter(props: IHyperparameter): React.JSX.Element {
  const { declared, row, onChange, trans } = props;
  const { name, help, type, required, minimum, maximum } = declared;
  const range = minimum || maximum ? ` ${minimum}…${maximum}` : '';
  const error = errorAt(props, `hyperparameters.${row?.name ?? name}`);
  const isMissing = required && row === undefined;
  const warning = isMissing ? trans.__('A value is required.') : warningsAbout(props, row?.name ?? name);
  return (
    <div className="jp-pai-Train-hyper" data-changed={row !== undefined}>
      <Field
        label={name}
        note={(required ? trans.__('required') : type) + range}
        error={error}
        warning={error ? '' : warning}
        hint={help}
      >
        {control => <Control {...props} control={{ ...control, 'aria-required': required }} />}
      </Field>
      {row && (
        <button
          type="button"
          className="jp-pai-Button jp-pai-Train-remove"
          title={trans.__('Reset to default')}
          aria-label={trans.__('Reset %1 to default', name)}
          onClick={() => onChange(null)}
        >
          ↺
        </button>
      )}
    </div>
  );
}

interface IControlProps extends IHyperparameter {
  readonly control: IControl & { readonly 'aria-required': boolean };
}

function Control({ declared, row, onChange, trans, control }: IControlProps): React.JSX.Element {
  const { type, choices, default: defaultValue } = declared;
  if (type === 'bool' && defaultValue !== null && !choices.length) {
    const isOn = TRUE.test(row?.value ?? defaultValue);
    const toggle = (isNow: boolean) => onChange(isNow === TRUE.test(defaultValue) ? null : isNow ? 'True' : 'False');
    return <input {...control} type="checkbox" checked={isOn} onChange={event => toggle(event.target.checked)} />;
  }
  const options = choices.length || type !== 'bool' ? choices : ['True', 'False'];
  if (options.length) {
    const value = row?.value ?? '';
    const shown = value && !options.includes(value) ? [value, ...options] : options;
    return (
      <select
        {...control}
        className="jp-pai-Input"
        value={value}
        onChange={event => onChange(event.target.value || null)}
      >
        <option value="">{defaultValue === null ? '–' : trans.__('%1 (default)', defaultValue)}</option>
        {shown
          .filter(word => word !== defaultValue || word === value)
          .map(word => (
            <option key={word}>{word}</option>
          ))}
      </select>
    );
  }
  return (
    <input
      {...control}
      className="jp-pai-Input"
      inputMode={type === 'int' ? 'numeric' : type === 'float' ? 'decimal' : undefined}
      value={row?.value ?? ''}
      placeholder={defaultValue ?? ''}
      spellCheck={false}
      onChange={event => onChange(event.target.value || null)}
      // A value equal to the default is not sent. Checked on blur, since the user may still be typing.
      onBlur={() => row?.value === defaultValue && onChange(null)}
    />
  );
}
