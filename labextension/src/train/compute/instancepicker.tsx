/**
 * A table to select the instance type.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../../api/engine.js';
import { ErrorMessage } from '../../ui/errormessage.js';
import { coreCount } from '../../ui/format.js';
import { useQuery } from '../../ui/hooks.js';
import type { Column, IInstances, IInstanceType, IOrder } from './instancetypes.js';
import { filterTypes, gpuText, memoryText, parseInstances, priceText, sortTypes } from './instancetypes.js';
import { QuotaList } from './quotas.js';

interface IProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  readonly profile: string;
  readonly backend: string;
  /** The name of the selected type; empty for the profile's default. */
  readonly value: string;
  readonly onChange: (name: string) => void;
  readonly favorites: readonly string[];
  readonly onFavorites: (names: readonly string[]) => void;
}

// Number of rows shown at first.
const PAGE = 100;

export function InstanceTable(props: IProps): React.JSX.Element {
  return (
    <div className="jp-pai-Instances" data-lm-suppress-shortcuts="true">
      <InstanceTypesLoader key={`${props.backend}/${props.profile}`} {...props} />
    </div>
  );
}

function InstanceTypesLoader(props: IProps): React.JSX.Element {
  const { engine, trans, profile, backend } = props;
  const [attempt, reload] = React.useReducer((n: number) => n + 1, 0);
  const fetch = async () => parseInstances(await engine.call('instances', { profile, backend }));
  const [instances, error] = useQuery(fetch, String(attempt), true);
  return (
    <>
      {instances ? (
        <FilterableTypes {...props} instances={instances} />
      ) : error ? (
        <NameField {...props} />
      ) : (
        <p className="jp-pai-Fields-note" role="status">
          {trans.__('Loading…')}
        </p>
      )}
      <ErrorMessage error={error} />
      <button type="button" className="jp-pai-Button" onClick={reload}>
        {trans.__('Refresh')}
      </button>
    </>
  );
}

/** A text field for the name, if the types cannot be listed. */
function NameField({ trans, value, onChange }: IProps): React.JSX.Element {
  return (
    <input
      className="jp-pai-Input"
      aria-label={trans.__('Instance type name')}
      placeholder={trans.__('Instance type name')}
      spellCheck={false}
      value={value}
      onChange={event => onChange(event.target.value.trim())}
    />
  );
}

function FilterableTypes(props: IProps & { readonly instances: IInstances }): React.JSX.Element {
  const { trans, instances, value, favorites } = props;
  const [text, setText] = React.useState('');
  const [order, setOrder] = React.useState<IOrder>({ column: 'price', isDescending: false });
  const [limit, setLimit] = React.useState(PAGE);
  const starred = React.useMemo(() => new Set(favorites), [favorites]);
  const rows = React.useMemo(
    () => sortTypes(filterTypes(instances.types, text), order, starred),
    [instances.types, text, order, starred]
  );
  if (!instances.types.length) {
    return (
      <>
        <p className="jp-pai-Fields-note">{trans.__('This backend does not list instance types.')}</p>
        <NameField {...props} />
        <TableFooter {...props} />
      </>
    );
  }
  const shown = rows.slice(0, limit);
  const isPriceless = instances.types.every(setText => setText.price === null);
  return (
    <>
      <input
        type="search"
        className="jp-pai-Input"
        aria-label={trans.__('Filter instance types')}
        placeholder={trans.__('Filter by name or GPU')}
        spellCheck={false}
        value={text}
        onChange={event => {
          setText(event.target.value);
          setLimit(PAGE);
        }}
      />
      <Rows {...props} rows={shown} order={order} setOrder={setOrder} starred={starred} isPriceless={isPriceless} />
      <p className="jp-pai-Fields-note" role="status">
        {rows.length
          ? trans.__('Showing %1 of %2', shown.length, instances.types.length)
          : trans.__('No matching instance types.')}
      </p>
      {shown.length < rows.length && (
        <button type="button" className="jp-pai-Button" onClick={() => setLimit(limit + PAGE)}>
          {trans.__('Show more')}
        </button>
      )}
      {isPriceless && <p className="jp-pai-Fields-note">{trans.__('Pricing unavailable')}</p>}
      {value && !instances.types.some(type => type.name === value) && (
        <p className="jp-pai-Fields-note">{trans.__('Selected type %1 is not listed.', value)}</p>
      )}
      <TableFooter {...props} />
    </>
  );
}

interface IRowsProps extends IProps {
  readonly rows: readonly IInstanceType[];
  readonly order: IOrder;
  readonly setOrder: (order: IOrder) => void;
  readonly starred: ReadonlySet<string>;
  readonly isPriceless: boolean;
}

function Rows(props: IRowsProps): React.JSX.Element {
  const { trans, rows, value, onChange, favorites, onFavorites, starred, isPriceless } = props;
  const group = React.useId();
  // Rows are memoized, so their callbacks must not change.
  const latest = React.useRef({ onChange, onFavorites, favorites });
  latest.current = { onChange, onFavorites, favorites };
  const choose = React.useCallback((name: string) => latest.current.onChange(name), []);
  const toggleFavorite = React.useCallback((name: string) => {
    const known = latest.current.favorites;
    latest.current.onFavorites(known.includes(name) ? known.filter(favorite => favorite !== name) : [...known, name]);
  }, []);
  const current = rows.some(row => row.name === value) ? value : '';
  return (
    <div className="jp-pai-Instances-rows">
      <table role="table" aria-label={trans.__('Instance types')}>
        <TableHeader {...props} />
        <tbody role="rowgroup">
          <tr role="row" data-chosen={value === ''}>
            <td role="cell" className="jp-pai-Instances-name" colSpan={6}>
              <label>
                <input type="radio" name={group} checked={value === ''} onChange={() => choose('')} />
                <span>{trans.__('Profile default')}</span>
              </label>
            </td>
          </tr>
          {rows.map(type => (
            <Row
              key={type.name}
              type={type}
              trans={trans}
              group={group}
              isChosen={type.name === current}
              isStarred={starred.has(type.name)}
              isPriceless={isPriceless}
              choose={choose}
              toggleFavorite={toggleFavorite}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TableHeader({ trans, order, setOrder }: IRowsProps): React.JSX.Element {
  const columns: readonly (readonly [Column, string])[] = [
    ['name', trans.__('Name')],
    ['cpu', trans.__('Cores')],
    ['gpu', 'GPU'],
    ['memory', trans.__('Memory')],
    ['price', trans.__('Price per hour')],
    ['available', trans.__('Availability')]
  ];
  return (
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(([column, text]) => {
          const isOn = order.column === column;
          return (
            <th
              key={column}
              role="columnheader"
              scope="col"
              aria-sort={isOn ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
            >
              <button type="button" onClick={() => setOrder({ column, isDescending: isOn && !order.isDescending })}>
                {text}
                <span aria-hidden="true">{isOn ? (order.isDescending ? ' ↓' : ' ↑') : ''}</span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface IRowProps {
  readonly type: IInstanceType;
  readonly trans: TranslationBundle;
  readonly group: string;
  readonly isChosen: boolean;
  readonly isStarred: boolean;
  /** True if all prices are unknown, which is stated once, below the table. */
  readonly isPriceless: boolean;
  readonly choose: (name: string) => void;
  readonly toggleFavorite: (name: string) => void;
}

const Row = React.memo(function Row(props: IRowProps): React.JSX.Element {
  const { type, trans, group, isChosen, isStarred, isPriceless, choose, toggleFavorite } = props;
  const { name, cpu, memory, price, spotDiscount, isAvailable } = type;
  return (
    <tr role="row" data-chosen={isChosen} data-type={name}>
      <td role="cell" className="jp-pai-Instances-name">
        <label>
          <input type="radio" name={group} checked={isChosen} onChange={() => choose(name)} />
          <span>
            {name.split(/(?<=\.)/).map((part, n) => (
              <React.Fragment key={n}>
                {n > 0 && <wbr />}
                {part}
              </React.Fragment>
            ))}
          </span>
        </label>
        <button
          type="button"
          className="jp-pai-Instances-star"
          // Only the star of the selected row is in the tab order.
          tabIndex={isChosen ? 0 : -1}
          aria-pressed={isStarred}
          aria-label={trans.__('Favorite: %1', name)}
          title={trans.__('Favorite: %1', name)}
          onClick={() => toggleFavorite(name)}
        >
          <span aria-hidden="true">{isStarred ? '★' : '☆'}</span>
        </button>
      </td>
      <td role="cell">
        <span className="jp-pai-Instances-wide">{cpu}</span>
        <span className="jp-pai-Instances-narrow">{coreCount(cpu, trans)}</span>
      </td>
      <td role="cell">{gpuText(type) || <span className="jp-pai-Instances-none">–</span>}</td>
      <td role="cell">{memoryText(memory)}</td>
      <td role="cell">
        {price === null ? (
          <span className={isPriceless ? 'jp-pai-Instances-none' : ''}>{trans.__('unavailable')}</span>
        ) : (
          <>
            <span className="jp-pai-Instances-wide">{priceText(price)}</span>
            <span className="jp-pai-Instances-narrow">{trans.__('%1 per hour', priceText(price))}</span>
          </>
        )}
        {spotDiscount !== null && (
          <span className="jp-pai-Instances-spot">
            {' '}
            {trans.__('spot: %1 % of the price', Math.round(100 * spotDiscount))}
          </span>
        )}
      </td>
      <td role="cell">
        {isAvailable === null ? (
          <span className="jp-pai-Instances-none">{trans.__('unknown')}</span>
        ) : isAvailable ? (
          trans.__('free')
        ) : (
          trans.__('none free')
        )}
      </td>
    </tr>
  );
});

/** The number of hidden types, and the quotas of the account. */
function TableFooter({ trans, instances }: IProps & { readonly instances: IInstances }): React.JSX.Element {
  return (
    <>
      {instances.hiddenCount > 0 && (
        <p className="jp-pai-Fields-note">{trans.__('Hidden by the administrator: %1', instances.hiddenCount)}</p>
      )}
      {instances.quotas.length > 0 && (
        <section aria-label={trans.__('Quotas')}>
          <p className="jp-pai-Fields-head">{trans.__('Quotas')}</p>
          <QuotaList quotas={instances.quotas} trans={trans} />
        </section>
      )}
    </>
  );
}
