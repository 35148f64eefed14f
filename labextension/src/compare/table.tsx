/**
 * A table with one column per job.
 */

import * as React from 'react';

import { visible } from '../api/wire.js';

/** A row: its name, and a cell for each job. */
export interface IRow {
  readonly name: string;
  readonly cells: readonly React.ReactNode[];
  /** Which cells differ from the first one. */
  readonly isOther?: readonly boolean[];
}

/** Rows under a title. */
export interface IRows {
  readonly title: string;
  readonly rows: readonly IRow[];
}

interface IProps {
  readonly label: string;
  readonly heads: readonly React.ReactNode[];
  readonly rows: readonly IRow[];
  readonly more?: IRows | undefined;
}

export function CompareTable({ label, heads, rows, more }: IProps): React.JSX.Element {
  return (
    // A wide table can be scrolled with the keyboard, hence the tabIndex.
    <div className="jp-pai-Table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <td />
            {heads.map((head, i) => (
              <th key={i} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Lines rows={rows} />
        </tbody>
        {more && more.rows.length > 0 && (
          <tbody>
            <tr>
              <th scope="rowgroup" colSpan={1 + heads.length}>
                {more.title}
              </th>
            </tr>
            <Lines rows={more.rows} />
          </tbody>
        )}
      </table>
    </div>
  );
}

function Lines({ rows }: { rows: readonly IRow[] }): React.JSX.Element {
  return (
    <>
      {rows.map(({ name, cells, isOther }) => (
        <tr key={name}>
          <th scope="row">{visible(name)}</th>
          {cells.map((cell, i) => (
            <td key={i} className={isOther?.[i] ? 'jp-pai-mod-other' : undefined}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

/** A section whose content is rendered only while open. */
export function Collapsible(props: {
  readonly title: string;
  readonly isOpen?: boolean;
  readonly children: () => React.ReactNode;
}): React.JSX.Element {
  const [isOpen, setOpen] = React.useState(props.isOpen ?? false);
  return (
    <details className="jp-pai-Compare-part" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{props.title}</summary>
      {isOpen && props.children()}
    </details>
  );
}
