/**
 * Rarely used settings: name, limits, labels, variables, secrets, interpreter, packages and metrics.
 */

import * as React from 'react';

import { list, number, record, string, strings } from '../api/wire.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { isEmpty } from '../ui/fields/specedits.js';
import { duration } from '../ui/format.js';
import { useQuery } from '../ui/hooks.js';
import type { IDraftRow, Table } from './draft.js';
import { field, withRows } from './draft.js';
import { CollapsibleSection, LinesField, NumberField, Rows, TextField } from './field.js';
import type { ISectionProps } from './section.js';
import { backendOf, errorAt, errorsIn, hasError, setField, textAt } from './section.js';

const EXAMPLE = 'torch==2.5.1';

const FIELDS = ['name', 'max_run_time', 'labels', 'tty'];
const SURROUNDINGS = ['python', 'environment', 'secrets', 'requirements'];

export function AdvancedSection(props: ISectionProps): React.JSX.Element {
  const { draft, trans } = props;
  const seconds = number(field(draft, 'max_run_time'));
  const labels = draft.tables.labels.map(({ name, value }) => (value ? `${name}=${value}` : name));
  const time = seconds ? duration(1000 * seconds, trans) : seconds === 0 ? trans.__('no limit') : '';
  const limit = seconds ? trans.__('at most %1', time) : time;
  const summary = [textAt(props, 'name'), limit, ...labels].filter(Boolean).join(', ');
  const hasTty = backendOf(props)?.capabilities.includes('tty') === true;
  return (
    <>
      <EnvironmentFields {...props} />
      <MetricPatterns {...props} />
      <CollapsibleSection
        title={trans.__('Name, time limit, labels')}
        summary={summary}
        hasError={hasError(props, FIELDS)}
      >
        <TextField
          label={trans.__('Name')}
          value={textAt(props, 'name')}
          placeholder={trans.__('file name and timestamp')}
          error={errorAt(props, 'name')}
          onChange={value => setField(props, 'name', value)}
        />
        <NumberField
          label={trans.__('Time limit in seconds')}
          value={field(draft, 'max_run_time')}
          placeholder={trans.__('no limit')}
          error={errorAt(props, 'max_run_time')}
          hint={time}
          onChange={value => setField(props, 'max_run_time', value)}
        />
        <TableRows {...props} table="labels" title={trans.__('Labels')} addLabel={trans.__('Add label')} />
        {hasTty && (
          <label className="jp-pai-Check">
            <input
              type="checkbox"
              checked={field(draft, 'tty') === true}
              onChange={event => setField(props, 'tty', event.target.checked || undefined)}
            />
            {trans.__('Allocate a terminal (TTY)')}
          </label>
        )}
      </CollapsibleSection>
    </>
  );
}

function EnvironmentFields(props: ISectionProps): React.JSX.Element {
  const { form, draft, engine, trans } = props;
  const python = textAt(props, 'python');
  const fetch = async () =>
    list(record(await engine.call('secrets'))['secrets']).map(secret => string(record(secret)['name']));
  const [stored] = useQuery(fetch, 'secrets', true);
  const packages = strings(field(draft, 'requirements'));
  const names = [...draft.tables.environment, ...draft.tables.secrets].map(row => row.name);
  const hint = stored?.length
    ? trans.__('Secrets are passed by name. Stored on this machine: %1', stored.join(', '))
    : trans.__('Secrets are passed by name. To store one, run %pai secret set NAME.');
  return (
    <CollapsibleSection
      title={trans.__('Interpreter, packages, variables')}
      summary={[python, ...packages, ...names].filter(Boolean).join(', ')}
      hasError={hasError(props, SURROUNDINGS)}
    >
      <TextField
        label={trans.__('Interpreter')}
        value={python}
        placeholder={form.preview?.python || trans.__('same as the server')}
        error={errorAt(props, 'python')}
        hint={trans.__('Path, or name of a kernel or conda environment')}
        onChange={value => setField(props, 'python', value)}
      />
      <LinesField
        label={trans.__('Extra packages')}
        value={packages}
        placeholder={EXAMPLE}
        error={errorsIn(props, 'requirements')}
        onChange={value => setField(props, 'requirements', value)}
      />
      <TableRows
        {...props}
        table="environment"
        title={trans.__('Environment variables')}
        addLabel={trans.__('Add variable')}
      />
      <TableRows
        {...props}
        table="secrets"
        title={trans.__('Secrets')}
        addLabel={trans.__('Add secret')}
        hint={hint}
        valueLabel={trans.__('secret name')}
        suggestions={stored ?? []}
      />
    </CollapsibleSection>
  );
}

interface ITableRowsProps extends ISectionProps {
  readonly table: Table;
  readonly title: string;
  readonly addLabel: string;
  readonly hint?: string;
  readonly valueLabel?: string;
  readonly suggestions?: readonly string[];
}

/** A table of the spec. */
function TableRows({ table, ...props }: ITableRowsProps): React.JSX.Element {
  const { form, draft } = props;
  return (
    <>
      <FieldError text={errorAt(props, table)} />
      <Rows
        {...props}
        rows={draft.tables[table]}
        onChange={rows => form.change(withRows(draft, table, rows))}
        errorOf={({ name }) => errorAt(props, `${table}.${name}`)}
      />
    </>
  );
}

/** Metrics read from the log by patterns. */
function MetricPatterns(props: ISectionProps): React.JSX.Element {
  const { draft, trans } = props;
  const rows = list(field(draft, 'metric_definitions')).map((item, key): IDraftRow => {
    const data = record(item);
    return { key, name: string(data['name']), value: string(data['regex']), isOwn: true };
  });
  // Errors count only the rows that are sent.
  const filled = rows.filter(row => !isEmpty(row)).map(row => row.key);
  const error = ({ key, name }: IDraftRow) =>
    [`${filled.indexOf(key)}`, name]
      .map(path => errorsIn(props, `metric_definitions.${path}`))
      .filter(Boolean)
      .join(' ');
  return (
    <CollapsibleSection
      title={trans.__('Metrics from the log')}
      summary={rows.map(row => row.name).join(', ')}
      hasError={hasError(props, ['metric_definitions'])}
    >
      <FieldError text={errorAt(props, 'metric_definitions')} />
      <Rows
        trans={trans}
        title={trans.__('Metrics')}
        addLabel={trans.__('Add metric')}
        valueLabel={trans.__('pattern')}
        hint={trans.__('The capture group is the value: loss=([0-9.]+)')}
        rows={rows}
        onChange={now =>
          setField(
            props,
            'metric_definitions',
            now.map(({ name, value }) => ({ name, regex: value }))
          )
        }
        errorOf={error}
      />
      <label className="jp-pai-Check">
        <input
          type="checkbox"
          checked={field(draft, 'detect_metrics') !== false}
          onChange={event => setField(props, 'detect_metrics', event.target.checked ? undefined : false)}
        />
        {trans.__('Detect metrics and progress without a pattern')}
      </label>
    </CollapsibleSection>
  );
}
