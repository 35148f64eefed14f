/**
 * Rarely used settings: name, limits, labels, variables, secrets, interpreter, packages and metrics.
 */

import * as React from 'react';

import { list, number, record, string, strings } from '../api/wire.js';
import { FaultText } from '../ui/fields/fielderror.js';
import { isEmpty } from '../ui/fields/specedits.js';
import { duration } from '../ui/format.js';
import { useAnswer } from '../ui/hooks.js';
import type { IDraftRow, Table } from './draft.js';
import { field, withRows } from './draft.js';
import { Fold, LinesField, NumberField, Rows, TextField } from './field.js';
import type { IPart } from './part.js';
import { backendOf, faultAt, faultsOf, isWrong, set, textAt } from './part.js';

const EXAMPLE = 'torch==2.5.1';

const FIELDS = ['name', 'max_run_time', 'labels', 'tty'];
const SURROUNDINGS = ['python', 'environment', 'secrets', 'requirements'];

export function TrainMore(props: IPart): React.JSX.Element {
  const { draft, trans } = props;
  const seconds = number(field(draft, 'max_run_time'));
  const labels = draft.tables.labels.map(({ name, value }) => (value ? `${name}=${value}` : name));
  const limit = seconds === null ? '' : trans.__('at most %1', duration(1000 * seconds, trans));
  const said = [textAt(props, 'name'), limit, ...labels].filter(Boolean).join(', ');
  const canType = backendOf(props)?.capabilities.includes('tty') === true;
  return (
    <>
      <Surroundings {...props} />
      <Metrics {...props} />
      <Fold title={trans.__('Name, time limit, labels')} said={said} isWrong={isWrong(props, FIELDS)}>
        <TextField
          label={trans.__('Name')}
          value={textAt(props, 'name')}
          placeholder={trans.__('file name and timestamp')}
          fault={faultAt(props, 'name')}
          onChange={value => set(props, 'name', value)}
        />
        <NumberField
          label={trans.__('Time limit in seconds')}
          value={field(draft, 'max_run_time')}
          placeholder={trans.__('no limit')}
          fault={faultAt(props, 'max_run_time')}
          hint={seconds === null ? '' : duration(1000 * seconds, trans)}
          onChange={value => set(props, 'max_run_time', value)}
        />
        <Texts {...props} table="labels" title={trans.__('Labels')} add={trans.__('Add label')} />
        {canType && (
          <label className="jp-pai-Check">
            <input
              type="checkbox"
              checked={field(draft, 'tty') === true}
              onChange={event => set(props, 'tty', event.target.checked || undefined)}
            />
            {trans.__('Allocate a terminal (TTY)')}
          </label>
        )}
      </Fold>
    </>
  );
}

function Surroundings(props: IPart): React.JSX.Element {
  const { desk, draft, engine, trans } = props;
  const python = textAt(props, 'python');
  const ask = async () => list(record(await engine.call('secrets'))['secrets']).map(one => string(record(one)['name']));
  const [kept] = useAnswer(ask, 'secrets', true);
  const packages = strings(field(draft, 'requirements'));
  const names = [...draft.tables.environment, ...draft.tables.secrets].map(row => row.name);
  const hint = kept?.length
    ? trans.__('Secrets are passed by name. Stored here: %1', kept.join(', '))
    : trans.__('Secrets are passed by name. To store one, run %pai secret set NAME.');
  return (
    <Fold
      title={trans.__('Interpreter, packages, variables')}
      said={[python, ...packages, ...names].filter(Boolean).join(', ')}
      isWrong={isWrong(props, SURROUNDINGS)}
    >
      <TextField
        label={trans.__('Interpreter')}
        value={python}
        placeholder={desk.preview?.python || trans.__('same as the server')}
        fault={faultAt(props, 'python')}
        hint={trans.__('Path, or name of a kernel or conda environment')}
        onChange={value => set(props, 'python', value)}
      />
      <LinesField
        label={trans.__('Extra packages')}
        value={packages}
        placeholder={EXAMPLE}
        fault={faultsOf(props, 'requirements')}
        onChange={value => set(props, 'requirements', value)}
      />
      <Texts {...props} table="environment" title={trans.__('Environment variables')} add={trans.__('Add variable')} />
      <Texts
        {...props}
        table="secrets"
        title={trans.__('Secrets')}
        add={trans.__('Add secret')}
        hint={hint}
        value={trans.__('secret name')}
        proposals={kept ?? []}
      />
    </Fold>
  );
}

interface ITexts extends IPart {
  readonly table: Table;
  readonly title: string;
  readonly add: string;
  readonly hint?: string;
  readonly value?: string;
  readonly proposals?: readonly string[];
}

/** A table of the spec. */
function Texts({ table, ...props }: ITexts): React.JSX.Element {
  const { desk, draft } = props;
  return (
    <>
      <FaultText text={faultAt(props, table)} />
      <Rows
        {...props}
        rows={draft.tables[table]}
        onChange={rows => desk.change(withRows(draft, table, rows))}
        fault={({ name }) => faultAt(props, `${table}.${name}`)}
      />
    </>
  );
}

/** Metrics read from the log by patterns. */
function Metrics(props: IPart): React.JSX.Element {
  const { draft, trans } = props;
  const rows = list(field(draft, 'metric_definitions')).map((item, key): IDraftRow => {
    const one = record(item);
    return { key, name: string(one['name']), value: string(one['regex']), isOwn: true };
  });
  // Errors count only the rows that are sent.
  const filled = rows.filter(row => !isEmpty(row)).map(row => row.key);
  const fault = ({ key, name }: IDraftRow) =>
    [`${filled.indexOf(key)}`, name]
      .map(one => faultsOf(props, `metric_definitions.${one}`))
      .filter(Boolean)
      .join(' ');
  return (
    <Fold
      title={trans.__('Metrics from the log')}
      said={rows.map(row => row.name).join(', ')}
      isWrong={isWrong(props, ['metric_definitions'])}
    >
      <FaultText text={faultAt(props, 'metric_definitions')} />
      <Rows
        trans={trans}
        title={trans.__('Metrics')}
        add={trans.__('Add metric')}
        value={trans.__('pattern')}
        hint={trans.__('The capture group is the value: loss=([0-9.]+)')}
        rows={rows}
        onChange={now =>
          set(
            props,
            'metric_definitions',
            now.map(({ name, value }) => ({ name, regex: value }))
          )
        }
        fault={fault}
      />
    </Fold>
  );
}
