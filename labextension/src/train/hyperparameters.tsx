/**
 * Hyperparameters: a field for each one declared in the code, and rows for others.
 */

import * as React from 'react';

import { string } from '../api/wire.js';
import { FaultText } from '../ui/fields/fielderror.js';
import type { IDraftRow } from './draft.js';
import { field, freeRows, rowOf, takesValue, withRows, withValue } from './draft.js';
import type { IControl } from './field.js';
import { Field, Rows } from './field.js';
import type { IPart } from './part.js';
import { doubtAbout, faultAt } from './part.js';
import type { IDeclared } from './preview.js';

const TRUE = /^(true|1|yes|on)$/i;

export function TrainHyper(props: IPart): React.JSX.Element {
  const { desk, draft, trans } = props;
  const rows = draft.tables.hyperparameters;
  const change = (changed: readonly IDraftRow[]) => desk.change(withRows(draft, 'hyperparameters', changed));
  const found = desk.declared.filter(takesValue);
  const others = desk.declared.filter(one => !takesValue(one));
  const free = freeRows(rows, desk.declared);
  const files = [...new Set(found.map(one => one.file))].join(', ');
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Hyperparameters')}>
      <h3>{trans.__('Hyperparameters')}</h3>
      {found.length > 0 && (
        <p className="jp-pai-Train-hint">{trans.__('Detected in %1. Only changed values are passed.', files)}</p>
      )}
      {desk.preview && desk.declared.length === 0 && (
        <p className="jp-pai-Train-hint">
          {string(field(draft, 'entry_point')).endsWith('.ipynb')
            ? trans.__('None detected. Define them in a cell tagged "parameters".')
            : trans.__('None detected in the code.')}
        </p>
      )}
      <FaultText text={faultAt(props, 'hyperparameters')} />
      {found.map(one => (
        <Hyperparameter
          key={one.name}
          {...props}
          declared={one}
          row={rowOf(rows, one)}
          onChange={value => change(withValue(rows, one, value))}
        />
      ))}
      {others.length > 0 && (
        <p className="jp-pai-Train-hint">
          {trans.__('Can only be set in a command: %1', others.map(one => one.name).join(', '))}
        </p>
      )}
      <Rows
        trans={trans}
        title={found.length ? trans.__('Other hyperparameters') : trans.__('Hyperparameters')}
        add={trans.__('Add hyperparameter')}
        rows={free}
        all={rows}
        isTitleHidden
        onChange={change}
        fault={({ name }) => faultAt(props, `hyperparameters.${name}`)}
        doubt={({ name }) => doubtAbout(props, name)}
      />
    </section>
  );
}

interface IHyperparameter extends IPart {
  readonly declared: IDeclared;
  readonly row: IDraftRow | undefined;
  /** Null resets to the default of the code. */
  readonly onChange: (value: string | null) => void;
}

function Hyperparameter(props: IHyperparameter): React.JSX.Element {
  const { declared, row, onChange, trans } = props;
  const { name, help, type, required, minimum, maximum } = declared;
  const range = minimum || maximum ? ` ${minimum}…${maximum}` : '';
  const isMissing = required && row === undefined;
  return (
    <div className="jp-pai-Train-hyper" data-changed={row !== undefined}>
      <Field
        label={name}
        mark={(required ? trans.__('required') : type) + range}
        fault={faultAt(props, `hyperparameters.${row?.name ?? name}`)}
        doubt={isMissing ? trans.__('A value is required.') : doubtAbout(props, row?.name ?? name)}
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
  const { type, choices, default: before } = declared;
  if (type === 'bool' && before !== null && !choices.length) {
    const isOn = TRUE.test(row?.value ?? before);
    const flip = (isNow: boolean) => onChange(isNow === TRUE.test(before) ? null : isNow ? 'True' : 'False');
    return <input {...control} type="checkbox" checked={isOn} onChange={event => flip(event.target.checked)} />;
  }
  const words = choices.length || type !== 'bool' ? choices : ['True', 'False'];
  if (words.length) {
    const value = row?.value ?? '';
    const shown = value && !words.includes(value) ? [value, ...words] : words;
    return (
      <select
        {...control}
        className="jp-pai-Input"
        value={value}
        onChange={event => onChange(event.target.value || null)}
      >
        <option value="">{before === null ? '–' : trans.__('%1 (default)', before)}</option>
        {shown
          .filter(word => word !== before || word === value)
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
      placeholder={before ?? ''}
      spellCheck={false}
      onChange={event => onChange(event.target.value || null)}
      // A value equal to the default is not sent. Checked on blur, since the user may still be typing.
      onBlur={() => row?.value === before && onChange(null)}
    />
  );
}
