/**
 * A table with a column for each job.
 */

import * as React from 'react';

/** A line of the table: what it is about, and a cell for each job. */
export interface IRow {
  readonly name: string;
  readonly cells: readonly React.ReactNode[];
  /** Which cells say something else than the first one. */
  readonly isOther?: readonly boolean[];
}

/** Lines under a title of their own. */
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
    // It may be wider than the view: then it is moved with the keyboard too.
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
          <th scope="row">{name}</th>
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

/** What is shown when it is asked for. */
export function Folded(props: {
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
