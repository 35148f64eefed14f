/**
 * The content of a folder as a table. Only visible rows are rendered.
 */

import * as React from 'react';

import { moment, size } from '../ui/format.js';
import { useRowWindow } from '../ui/virtualrows.js';
import type { IAction, IExplorer } from './actions.js';
import { open } from './actions.js';
import type { Column, IEntry } from './entries.js';
import { nameOf } from './entries.js';

interface IProps extends IExplorer {
  readonly actions: () => readonly IAction[];
  /** Open the context menu at viewport coordinates. */
  readonly ask: (x: number, y: number) => void;
}

/** Height of all rows and of the header, in pixels. */
const ROW = 26;

export function ExplorerRows(props: IProps): React.JSX.Element {
  const { model, trans, actions, ask } = props;
  const id = React.useId();
  const { box, first, count, reveal, top } = useRowWindow(ROW, 1);
  const { entries, current } = model;
  const last = Math.min(first + count, entries.length);
  const rows = Array.from({ length: Math.max(last - first, 0) }, (_, n) => first + n);
  React.useEffect(() => model.look(last), [model, last, entries]);
  React.useEffect(() => reveal(current), [current]);
  React.useEffect(() => top(), [model.order, model.place?.uri]);

  const move = (row: number, event: React.KeyboardEvent) => {
    const to = Math.min(Math.max(row, 0), entries.length - 1);
    if (event.shiftKey) {
      model.extend(to);
    } else if (event.ctrlKey || event.metaKey) {
      model.point(to);
    } else {
      model.pick(to);
    }
  };
  const run = (name: string) =>
    actions()
      .find(action => action.id === name && action.isOn)
      ?.run();
  const askAtRow = () => {
    const place = document.getElementById(`${id}-${current}`)?.getBoundingClientRect();
    ask(place?.left ?? 0, place?.bottom ?? 0);
  };
  const press = (event: React.KeyboardEvent) => {
    const page = Math.max(count - 3, 1);
    const steps: Readonly<Record<string, () => unknown>> = {
      ArrowDown: () => move(model.selected.size || event.ctrlKey ? current + 1 : current, event),
      ArrowUp: () => move(current - 1, event),
      PageDown: () => move(current + page, event),
      PageUp: () => move(current - page, event),
      Home: () => move(0, event),
      End: () => move(entries.length - 1, event),
      Enter: () => open(props, entries[current]),
      ' ': () => model.toggle(current),
      Backspace: () => model.up(),
      Escape: () => model.choose([]),
      F2: () => run('rename'),
      Delete: () => run('delete'),
      ContextMenu: askAtRow,
      ...(event.shiftKey ? { F10: askAtRow } : {}),
      ...(event.ctrlKey || event.metaKey ? { a: () => model.choose(entries.map(entry => entry.path)) } : {})
    };
    const step = steps[event.key];
    if (step && event.target === event.currentTarget) {
      event.preventDefault();
      event.stopPropagation();
      step();
    }
  };
  const click = (row: number, event: React.MouseEvent) => {
    if (event.shiftKey) {
      model.extend(row);
    } else if (event.ctrlKey || event.metaKey) {
      model.toggle(row);
    } else {
      model.pick(row);
    }
  };
  const menu = (row: number, event: React.MouseEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (!model.selected.has(entries[row]?.path ?? '')) {
      model.pick(row);
    }
    ask(event.clientX, event.clientY);
  };
  return (
    <div
      ref={box}
      className="jp-pai-Explorer-rows"
      role="grid"
      tabIndex={0}
      aria-multiselectable
      aria-label={trans.__('Files and folders')}
      aria-rowcount={model.more ? -1 : entries.length + 1}
      aria-activedescendant={entries.length ? `${id}-${current}` : undefined}
      onKeyDown={press}
    >
      <div className="jp-pai-Explorer-head" role="row" style={{ height: ROW }}>
        <Heading {...props} column="name" title={trans.__('Name')} />
        <Heading {...props} column="size" title={trans.__('Size')} />
        <Heading {...props} column="modified" title={trans.__('Modified')} />
      </div>
      <div role="rowgroup" style={{ height: entries.length * ROW, position: 'relative' }}>
        {rows.map(row => {
          const entry = entries[row];
          return entry ? (
            <Row
              key={entry.path}
              id={`${id}-${row}`}
              {...{ entry, row }}
              isSelected={model.selected.has(entry.path)}
              isCurrent={row === current}
              click={event => click(row, event)}
              enter={() => void open(props, entry)}
              menu={event => menu(row, event)}
            />
          ) : null;
        })}
      </div>
    </div>
  );
}

/** A column header that sorts by its column. */
function Heading({ model, column, title }: IProps & { column: Column; title: string }): React.JSX.Element {
  const { order } = model;
  const isSorted = order.column === column;
  const sort = () => void model.sort({ column, isDescending: isSorted && !order.isDescending });
  return (
    <div
      role="columnheader"
      data-column={column}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
    >
      <button type="button" onClick={sort}>
        {title}
        <span aria-hidden="true">{isSorted ? (order.isDescending ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </div>
  );
}

interface IRow {
  readonly id: string;
  readonly entry: IEntry;
  readonly row: number;
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly click: (event: React.MouseEvent) => void;
  readonly enter: () => void;
  readonly menu: (event: React.MouseEvent) => void;
}

function Row({ id, entry, row, isSelected, isCurrent, click, enter, menu }: IRow): React.JSX.Element {
  const name = nameOf(entry.path);
  return (
    <div
      id={id}
      className="jp-pai-Explorer-row"
      role="row"
      style={{ height: ROW, transform: `translateY(${row * ROW}px)` }}
      aria-rowindex={row + 2}
      aria-selected={isSelected}
      data-current={isCurrent}
      data-path={entry.path}
      onClick={click}
      onDoubleClick={enter}
      onContextMenu={menu}
    >
      <span role="gridcell" data-column="name" title={entry.problem || name}>
        <span className="jp-pai-Explorer-kind" data-kind={entry.isFolder ? 'folder' : 'file'} aria-hidden />
        {name}
        {entry.isFolder && '/'}
      </span>
      <span role="gridcell" data-column="size" title={entry.problem}>
        {entry.problem || (entry.isFolder ? '' : size(entry.bytes))}
      </span>
      <span role="gridcell" data-column="modified">
        {entry.modified ? moment(entry.modified) : ''}
      </span>
    </div>
  );
}
