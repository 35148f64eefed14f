/**
 * The content of a folder as a table. Only visible rows are rendered.
 */

import * as React from 'react';

import { visible } from '../api/wire.js';
import { moment, size } from '../ui/format.js';
import { useRowWindow } from '../ui/virtualrows.js';
import type { IAction, IExplorerContext } from './actions.js';
import { open } from './actions.js';
import type { Column, IEntry } from './entries.js';
import { nameOf } from './entries.js';
import type { ExplorerModel } from './model.js';

interface IProps extends IExplorerContext {
  readonly actions: () => readonly IAction[];
  /** Open the context menu at viewport coordinates. */
  readonly openMenu: (x: number, y: number) => void;
}

/** Height of all rows and of the header, in pixels. */
const ROW = 26;

export function ExplorerRows(props: IProps): React.JSX.Element {
  const { model, trans, openMenu } = props;
  const id = React.useId();
  const { box, first, count, reveal, top } = useRowWindow(ROW, 1);
  const { entries, current } = model;
  const last = Math.min(first + count, entries.length);
  const rows = Array.from({ length: Math.max(last - first, 0) }, (_, n) => first + n);
  React.useEffect(() => model.ensureLoaded(last), [model, last, entries]);
  React.useEffect(() => reveal(current), [current]);
  React.useEffect(() => top(), [model.order, model.location?.uri]);

  const onKeyDown = useKeys(props, Math.max(count - 3, 1), `${id}-${current}`);
  const onContextMenu = (row: number, event: React.MouseEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (!model.selected.has(entries[row]?.path ?? '')) {
      model.selectOnly(row);
    }
    openMenu(event.clientX, event.clientY);
  };
  return (
    <div
      ref={box}
      className="jp-pai-Explorer-rows"
      role="grid"
      tabIndex={0}
      aria-multiselectable
      aria-label={trans.__('Files and folders')}
      aria-rowcount={model.hasMore ? -1 : entries.length + 1}
      aria-activedescendant={entries.length ? `${id}-${current}` : undefined}
      onKeyDown={onKeyDown}
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
              onClick={event => click(model, row, event)}
              onDoubleClick={() => void open(props, entry)}
              onContextMenu={event => onContextMenu(row, event)}
            />
          ) : null;
        })}
      </div>
    </div>
  );
}

/**
 * Return the handler of keys in the table.
 *
 * @param page - the number of rows that a page key moves by.
 * @param rowId - the element id of the focused row.
 */
function useKeys(props: IProps, page: number, rowId: string): (event: React.KeyboardEvent) => void {
  const { model, actions, openMenu } = props;
  const { entries, current } = model;
  const move = (row: number, event: React.KeyboardEvent) => {
    const to = Math.min(Math.max(row, 0), entries.length - 1);
    if (event.shiftKey) {
      model.extendSelection(to);
    } else if (event.ctrlKey || event.metaKey) {
      model.focusRow(to);
    } else {
      model.selectOnly(to);
    }
  };
  const run = (name: string) =>
    actions()
      .find(action => action.id === name && action.isEnabled)
      ?.run();
  const openMenuAtRow = () => {
    const rect = document.getElementById(rowId)?.getBoundingClientRect();
    openMenu(rect?.left ?? 0, rect?.bottom ?? 0);
  };
  return event => {
    const commands: Readonly<Record<string, () => unknown>> = {
      ArrowDown: () => move(model.selected.size || event.ctrlKey ? current + 1 : current, event),
      ArrowUp: () => move(current - 1, event),
      PageDown: () => move(current + page, event),
      PageUp: () => move(current - page, event),
      Home: () => move(0, event),
      End: () => move(entries.length - 1, event),
      Enter: () => open(props, entries[current]),
      ' ': () => model.toggle(current),
      Backspace: () => model.up(),
      Escape: () => model.select([]),
      F2: () => run('rename'),
      Delete: () => run('delete'),
      ContextMenu: openMenuAtRow,
      ...(event.shiftKey ? { F10: openMenuAtRow } : {}),
      ...(event.ctrlKey || event.metaKey ? { a: () => model.select(entries.map(entry => entry.path)) } : {})
    };
    const command = commands[event.key];
    if (command && event.target === event.currentTarget) {
      event.preventDefault();
      event.stopPropagation();
      command();
    }
  };
}

function click(model: ExplorerModel, row: number, event: React.MouseEvent): void {
  if (event.shiftKey) {
    model.extendSelection(row);
  } else if (event.ctrlKey || event.metaKey) {
    model.toggle(row);
  } else {
    model.selectOnly(row);
  }
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

interface IRowProps {
  readonly id: string;
  readonly entry: IEntry;
  readonly row: number;
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly onClick: (event: React.MouseEvent) => void;
  readonly onDoubleClick: () => void;
  readonly onContextMenu: (event: React.MouseEvent) => void;
}

function Row({ id, entry, row, isSelected, isCurrent, ...handlers }: IRowProps): React.JSX.Element {
  const name = visible(nameOf(entry.path));
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
      {...handlers}
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
